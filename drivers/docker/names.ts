import { randomBytes } from 'node:crypto'
import { type InstanceId, isUuid, type NetworkId } from '#common/ids.ts'
import type { Owner } from '../driver.ts'

/** Labels on everything the driver makes. They are stored in the engine, so they never change. */
export const LABELS = { cell: 'weir.cell', host: 'weir.host', id: 'weir.id' } as const

const PREFIX = 'weir-'

/** An instance has one container, so a second spawn meets the first one's. */
export function containerName(id: InstanceId): string {
  return `${PREFIX}${id}`
}

/** The server of a container by its name; undefined for a container that is not Weir's. */
export function instanceOfContainer(name: string): InstanceId | undefined {
  // The engine puts a slash before names in lists.
  const id = name.replace(/^\//, '').slice(PREFIX.length)
  return isUuid(id) ? (id as InstanceId) : undefined
}

/** Where a rebuilt container waits until the one before it is gone. */
export function nextContainerName(id: InstanceId): string {
  return `${PREFIX}${id}-next`
}

/** Another at every call: a rebuilt instance starts with new ones. */
export function newVolumeName(id: InstanceId, purpose: string): string {
  return `${PREFIX}${id}-${purpose}-${randomBytes(4).toString('hex')}`
}

/** One network per engine and owner: two hosts may share an engine. */
export function networkName(owner: Owner, id: NetworkId): string {
  return `${PREFIX}${id}-${owner.hostId.slice(-12)}`
}

export function labelsOf(owner: Owner, id: string): Readonly<Record<string, string>> {
  return { [LABELS.cell]: owner.cellId, [LABELS.host]: owner.hostId, [LABELS.id]: id }
}

/** True when labels read back are those of exactly this owner. */
export function isOwn(
  owner: Owner,
  labels: Readonly<Record<string, string>> | null | undefined,
): boolean {
  return labels?.[LABELS.cell] === owner.cellId && labels[LABELS.host] === owner.hostId
}

/** For the `filters` of the engine's lists and events: what carries this owner's labels, and this id if one is given. */
export function ownFilter(owner: Owner, id?: string): string {
  const own = [`${LABELS.cell}=${owner.cellId}`, `${LABELS.host}=${owner.hostId}`]
  const label = id === undefined ? own : [...own, `${LABELS.id}=${id}`]
  return JSON.stringify({ label })
}
