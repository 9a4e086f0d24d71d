import type { InstanceId } from '#common/ids.ts'
import type { Owner } from '../../driver.ts'
import { metadataElement } from '../domains/domain-xml.ts'
import type { InstanceRecord } from '../instance-record.ts'
import { networkName } from '../networks/network-name.ts'
import { element, renderXml, type XmlElement } from '../xml/element.ts'
import { rewriteXml } from '../xml/rewrite.ts'

export interface Place {
  readonly owner: Owner
  readonly stateDirectory: string
}

export interface NewPlace extends Place {
  /** The paths of the guest's volumes there, by those here. */
  readonly moved?: ReadonlyMap<string, string>
}

/** Left out: the other daemon has an emulator of its own, and disks there have nothing behind them. */
const OF_THIS_HOST = ['emulator', 'backingStore']

/**
 * A domain's XML as its guest's next host has it: its devices as they are, its files and networks by their names
 * there, and that host's stamp.
 */
export function asElsewhere(
  xml: string,
  { id, record }: { readonly id: InstanceId; readonly record: InstanceRecord },
  from: Place,
  to: NewPlace,
): string {
  const networks = new Map(
    record.nics.map(({ networkId }) => [
      networkName(from.owner, networkId),
      networkName(to.owner, networkId),
    ]),
  )
  const there = (text: string) =>
    to.moved?.get(text) ??
    (text.startsWith(`${from.stateDirectory}/`)
      ? `${to.stateDirectory}${text.slice(from.stateDirectory.length)}`
      : (networks.get(text) ?? text))
  const change = (found: XmlElement) => {
    if (OF_THIS_HOST.includes(found.name)) return undefined
    if (found.name === 'metadata') return metadataElement(to.owner, id, record.domain)
    const attributes = Object.entries(found.attributes).map(
      ([name, value]) => [name, there(String(value))] as const,
    )
    const children = found.children.map((child) =>
      typeof child === 'string' ? there(child) : child,
    )
    return element(found.name, Object.fromEntries(attributes), ...children)
  }
  return renderXml(rewriteXml(xml, change) ?? '')
}
