import { createHash } from 'node:crypto'
import type { NetworkId } from '#common/ids.ts'
import type { Owner } from '../../driver.ts'

const PREFIX = 'wr-'

/** The name of a network on this host, in libvirt and as a bridge (15 characters at most, IFNAMSIZ). */
export function networkName(owner: Owner, id: NetworkId): string {
  return PREFIX + digest(owner, id).slice(0, 12)
}

/** True of the name of a network of some host's. */
export function isNetworkName(name: string): boolean {
  return name.startsWith(PREFIX)
}

/** Its libvirt UUID: the same every time, so that it can be looked up without a list. */
export function networkUuid(owner: Owner, id: NetworkId): string {
  const hex = digest(owner, id)
  // Version 8 of RFC 9562 §5.8: made by a rule of our own.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Cell and host are part of the name: two hosts on one machine never share a bridge. */
function digest(owner: Owner, id: NetworkId): string {
  return createHash('sha256').update(`${owner.cellId}/${owner.hostId}/${id}`).digest('hex')
}
