import type { RunRecord } from '../record/record.ts'
import type { ApiState, CellState, GatewayState, Snapshot } from './snapshot.ts'

export const SERVER = '11111111-1111-4111-8111-111111111111'
export const OTHER = '22222222-2222-4222-8222-222222222222'
export const PORT = '33333333-3333-4333-8333-333333333333'
const CELL = '44444444-4444-4444-8444-444444444444'
export const PROJECT = 'project'

/** The planted errors: values that replace correct ones. */
export interface Planted {
  readonly api?: Partial<ApiState>
  readonly gateway?: Partial<GatewayState>
  readonly cell?: Partial<CellState>
}

/** A consistent deployment with one server on host `north-1`, but for the planted errors. */
export function there(
  record: RunRecord,
  { api = {}, gateway = {}, cell = {} }: Planted = {},
): Snapshot {
  return {
    api: {
      servers: [server()],
      things: {
        port: [],
        network: [],
        subnet: [],
        'security-group': [],
        'server-group': [],
        keypair: [],
        image: [],
        user: [],
      },
      ...api,
    },
    gateway: {
      mappings: [mapping()],
      index: [indexed()],
      ports: [port()],
      addresses: [{ portId: PORT, address: '10.0.0.2' }],
      quotas: [{ owner: PROJECT, resource: 'instances', used: 1, counted: 1, limit: 10 }],
      audit: record.entries.map(({ requestId, status }) => ({ requestId, status })),
      actions: [],
      openSagas: [],
      intents: [],
      ...gateway,
    },
    cells: [
      {
        id: CELL,
        name: 'north',
        instances: [instance()],
        allocations: [{ consumerId: SERVER, provider: 'north-1', resourceClass: 'VCPU', used: 1 }],
        providers: [{ name: 'north-1', used: { VCPU: 1, MEMORY_MB: 0, DISK_GB: 0 } }],
        openSagas: [],
        feedBehind: 0,
        guests: { 'north-1': [guest()], 'north-2': [] },
        ...cell,
      },
    ],
  }
}

export const server = (more: Partial<ApiState['servers'][number]> = {}) => ({
  id: SERVER,
  projectId: PROJECT,
  name: 'web',
  description: null,
  status: 'ACTIVE',
  vmState: 'active',
  taskState: null,
  host: 'north-1',
  vcpus: 1,
  metadata: {},
  tags: [],
  addresses: ['10.0.0.2'],
  fault: undefined,
  ...more,
})
const mapping = (more: Partial<GatewayState['mappings'][number]> = {}) => ({
  serverId: SERVER,
  projectId: PROJECT,
  cellId: CELL,
  attempt: 1,
  cores: 1,
  ramMb: 128,
  isCharged: 1,
  isResizing: 0,
  isDeleting: 0,
  sagaId: null,
  ...more,
})
export const indexed = (more: Partial<GatewayState['index'][number]> = {}) => ({
  serverId: SERVER,
  cellId: CELL,
  attempt: 1,
  vmState: 'active',
  taskState: null,
  powerState: 1,
  host: 'north-1',
  ...more,
})
export const port = (more: Partial<GatewayState['ports'][number]> = {}) => ({
  id: PORT,
  deviceId: SERVER,
  isBootMade: 1,
  status: 'ACTIVE',
  host: 'north-1',
  ...more,
})
export const instance = (more: Partial<CellState['instances'][number]> = {}) => ({
  serverId: SERVER,
  attempt: 1,
  vmState: 'active',
  taskState: null,
  host: 'north-1',
  sagaId: null,
  ...more,
})
export const guest = (more: Partial<CellState['guests'][string][number]> = {}) => ({
  id: SERVER,
  powerState: 'running',
  console: [],
  ...more,
})
/** Nothing of the server anywhere. */
export const gone = (record: RunRecord): Snapshot =>
  there(record, {
    api: { servers: [] },
    gateway: { mappings: [], index: [], ports: [], addresses: [], quotas: [] },
    cell: {
      instances: [],
      allocations: [],
      providers: [],
      guests: { 'north-1': [], 'north-2': [] },
    },
  })
