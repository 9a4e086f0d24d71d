import type { Owner } from '../driver.ts'
import { element, type XmlElement } from './xml/element.ts'
import type { XmlTree } from './xml/parse.ts'

/** The namespace of Weir's metadata in libvirt's documents. It is stored there, so it never changes. */
export const WEIR_NAMESPACE = 'urn:weir:libvirt:1'

/** What marks a domain or network as this host's own. `id` is the instance's or the network's. */
export function ownerStamp(owner: Owner, id: string, ...children: XmlElement[]): XmlElement {
  const attributes = { 'xmlns:weir': WEIR_NAMESPACE, cell: owner.cellId, host: owner.hostId, id }
  return element('weir:owned', attributes, ...children)
}

/** The same for a domain that is there: the daemon itself adds the prefix and the namespace. */
export function ownerMark(owner: Owner, id: string): XmlElement {
  return element('owned', { cell: owner.cellId, host: owner.hostId, id })
}

/** True when a stamp read back is that of exactly this owner for exactly this id. */
export function isOwnStamp(stamp: XmlTree | undefined, owner: Owner, id: string): boolean {
  if (stamp === undefined) return false
  return stamp['@cell'] === owner.cellId && stamp['@host'] === owner.hostId && stamp['@id'] === id
}
