import type { CellId, HostId } from '#common/ids.ts'
import type { CellOperation } from './wire/cell.ts'
import type { DirectOperation } from './wire/direct.ts'
import type { HOST_OPERATIONS } from './wire/host.ts'

/** Version of the contract between gateway, cells and computes; part of every request subject. */
export const WIRE_VERSION = 1

/**
 * Those that this release speaks, the newest last. The one before a new one stays for a release, so that gateways, cells and
 * hosts one release apart have one in common.
 */
export const WIRE_VERSIONS: readonly number[] = [WIRE_VERSION]

export type HostOperation = keyof typeof HOST_OPERATIONS

/** Asked by gateways, answered by any process of the cell. */
export function cellSubject(cell: CellId, operation: CellOperation): string {
  return `cell.${cell}.v${WIRE_VERSION}.${operation}`
}

/** The same, answered by the one process of the cell that gives this id in its heartbeats. */
export function processSubject(cell: CellId, processId: string, operation: CellOperation): string {
  return `cell.${cell}.process.${processId}.v${WIRE_VERSION}.${operation}`
}

/** The subjects of all requests to that process, in any version of the contract. */
export function processSubjects(cell: CellId, processId: string): string {
  return `cell.${cell}.process.${processId}.>`
}

/** Asked by a cell's processes, answered by one compute. */
export function hostSubject(cell: CellId, host: HostId, operation: HostOperation): string {
  return `host.${cell}.${host}.v${WIRE_VERSION}.${operation}`
}

/** Asked by gateways, answered by one compute: what goes only through the cell's processes would be slowed by them. */
export function directSubject(cell: CellId, host: HostId, operation: DirectOperation): string {
  return `cell.${cell}.host.${host}.v${WIRE_VERSION}.${operation}`
}

/** Published by a compute for its cell, which answers `guest-password` alone. `*` as host: those of all computes. */
export function reportSubject(
  cell: CellId,
  host: HostId | '*',
  what: 'report' | 'alive' | 'power' | 'guest-password',
): string {
  return `up.${cell}.${host}.v${WIRE_VERSION}.${what}`
}

/** Published by a cell for the gateways. `*` as cell: those of all cells. */
export function eventSubject(cell: CellId | '*', what: 'feed' | 'heartbeat'): string {
  return `ev.${cell}.v${WIRE_VERSION}.${what}`
}

/** Between gateways: the operation with this id has ended. */
export function endedSubject(operation: string): string {
  return `gateway.v${WIRE_VERSION}.ended.${operation}`
}

/** Between gateways: one of them has committed something, which may be work for another. */
export function committedSubject(): string {
  return `gateway.v${WIRE_VERSION}.committed`
}

/** Between gateways: each introduces itself with its incarnation, a space and its name. */
export function peersSubject(): string {
  return `gateway.v${WIRE_VERSION}.peers`
}

/** Between gateways: one has changed cells or placement policies; each answers once it has read them again. */
export function settingsSubject(): string {
  return `gateway.v${WIRE_VERSION}.settings`
}

/** Between gateways: each answers what it finds of itself. */
export function healthSubject(): string {
  return `gateway.v${WIRE_VERSION}.health`
}

/** Between gateways: answered by the one with this incarnation, as long as it is on the bus. */
export function aliveSubject(incarnation: string): string {
  return `gateway.v${WIRE_VERSION}.alive.${incarnation}`
}

/** Between the processes of one cell; no other process receives it. */
export function innerSubject(
  cell: CellId,
  what: 'feed-changed' | 'hosts-changed' | 'site-changed',
): string {
  return `in.${cell}.v${WIRE_VERSION}.${what}`
}

/** Where the buses of cells elsewhere reach that of a deployment, as its leaf nodes. */
export const BUS_LEAF_PATH = '/bus/leaf'

/** The same at a gateway, or at the proxy before gateways. */
export function busLeafUrl(gatewayUrl: string): string {
  return gatewayUrl.replace(/^http/, 'ws') + BUS_LEAF_PATH
}
