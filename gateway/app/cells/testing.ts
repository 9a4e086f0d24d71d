import type { CellId } from '#common/ids.ts'
import type { CellSummary } from '#openapi/wire/feed.ts'
import type { Cell } from '../../cell-client/cell.ts'
import type { CellRequest } from './cell-filters.ts'
import { NO_SPANS } from './tunnels.ts'

const SUMMARY: CellSummary = {
  hostsUp: 2,
  hosts: 2,
  zones: ['nova'],
  simulated: false,
  hypervisorTypes: ['QEMU'],
  architectures: ['x86_64'],
  imageFormats: ['qcow2'],
  traits: [],
  free: { vcpus: 8, memoryMb: 8_192, diskGb: 80 },
  largest: { vcpus: 4, memoryMb: 4_096, diskGb: 40 },
  instances: 0,
}
/** Of a server that any cell can take. */
export const REQUEST: CellRequest = {
  resources: { vcpus: 1, memoryMb: 512, diskGb: 5 },
  zone: null,
  requestedHost: null,
  image: { diskFormat: 'qcow2', properties: {} },
  networks: [],
  spans: NO_SPANS,
  withHost: null,
  withServers: null,
  cellHints: {},
  hostFilters: [],
  tried: new Set(),
  group: null,
  apart: null,
  policy: null,
  spread: null,
  use: new Map(),
  charge: { servers: 1, vcpus: 1, memoryMb: 512 },
  full: new Set(),
  replicaCellId: null,
  volumes: null,
}

/** A cell that can take servers, with the test's changes. */
export function sampleCell(
  name: string,
  summary: Partial<CellSummary> = {},
  change: Partial<Cell> = {},
): Cell {
  return {
    id: name as CellId,
    name,
    isEnabled: true,
    weight: 1,
    transportZone: null,
    labels: {},
    taints: [],
    cannotTunnelTo: new Set(),
    isReachable: true,
    isLost: false,
    lostAt: undefined,
    sendsHeartbeats: true,
    needsResync: false,
    lastHeartbeatAt: 1_000,
    incarnation: undefined,
    summary: { ...SUMMARY, ...summary },
    reserved: { vcpus: 0, memoryMb: 0, diskGb: 0 },
    reservedServers: 0,
    ...change,
  }
}
