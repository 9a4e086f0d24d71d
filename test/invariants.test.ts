import { expect, test } from 'vitest'
import { problemsOf } from './env/invariants/problems.ts'
import type { CellSnapshot, InstanceRow, MappingRow, Snapshot } from './env/invariants/snapshot.ts'

// Goal: every invariant that the fault tests and the simulation check can fail.

const MAPPING: MappingRow = {
  server_id: 's',
  project_id: 'p',
  cell_id: 'north',
  attempt: 1,
  cores: 2,
  ram_mb: 64,
  is_charged: 1,
  is_deleting: 0,
  saga_id: null,
}
const INSTANCE: InstanceRow = {
  server_id: 's',
  attempt: 1,
  version: 2,
  vm_state: 'active',
  task_state: null,
  host_id: 'h',
  host: 'host',
  saga_id: null,
  numa: null,
}
const CELL: CellSnapshot = {
  id: 'north',
  name: 'north',
  instances: [INSTANCE],
  providers: [
    {
      ...{ id: 'h', name: 'host', VCPU: 2, MEMORY_MB: 64, DISK_GB: 1, instances: 1 },
      ...{ vcpus_limit: 4, memory_mb_limit: 128, disk_gb_limit: 10 },
    },
  ],
  allocations: [
    { consumer_id: 's', provider_id: 'h', resource_class: 'VCPU', used: 2 },
    { consumer_id: 's', provider_id: 'h', resource_class: 'MEMORY_MB', used: 64 },
    { consumer_id: 's', provider_id: 'h', resource_class: 'DISK_GB', used: 1 },
  ],
  classes: [],
  sagas: [],
  volumes: {
    volumes: [
      {
        ...{ volume_id: 'v', attempt: 1, size_gb: 5, state: 'available' },
        ...{ store_id: 'store', saga_id: null },
      },
    ],
    snapshots: [
      {
        ...{ snapshot_id: 'k', size_gb: 5, state: 'available' },
        ...{ store_id: 'store', saga_id: null },
      },
    ],
    copies: [],
    stores: [{ id: 'store', promised_gb: 10 }],
  },
  guests: new Map([['h', ['s']]]),
}
const VOLUME = {
  ...{ id: 'v', project_id: 'p', status: 'in-use', is_deleting: 0, saga_id: null },
  ...{ cell_id: 'north', attempt: 1, size_gb: 5, charged_gb: 5 },
}
const KEPT = {
  ...{ id: 'k', project_id: 'p', volume_id: 'v', status: 'available', is_deleting: 0 },
  ...{ saga_id: null, cell_id: 'north', size_gb: 5 },
}
const SOUND: Snapshot = {
  mappings: [MAPPING],
  index: [{ ...INSTANCE, cell_id: 'north' }],
  usages: [
    { owner_id: 'p', resource: 'instances', used: 1 },
    { owner_id: 'p', resource: 'cores', used: 2 },
    { owner_id: 'p', resource: 'ram', used: 64 },
  ],
  ports: [{ id: 'port', device_id: 's' }],
  sagas: [],
  drifts: [],
  repaired: [],
  volumes: {
    volumes: [VOLUME],
    snapshots: [KEPT],
    attachments: [{ volume_id: 'v', server_id: 's', state: 'attached' }],
    quotas: [
      { project_id: 'p', resource: 'volumes', used: 1 },
      { project_id: 'p', resource: 'snapshots', used: 1 },
      { project_id: 'p', resource: 'gigabytes', used: 10 },
    ],
  },
  cells: [CELL],
}

const cell = (change: Partial<CellSnapshot>): Partial<Snapshot> => ({
  cells: [{ ...CELL, ...change }],
})
const volumes = (change: Partial<Snapshot['volumes']>): Partial<Snapshot> => ({
  volumes: { ...SOUND.volumes, ...change },
})
const second: CellSnapshot = { ...CELL, id: 'south', name: 'south' }

test('a cloud in which all is well has no problems', () => {
  expect(problemsOf(SOUND)).toEqual([])
})

test.each<[what: string, Partial<Snapshot>, problem: string]>([
  ['runs in two cells', { cells: [CELL, second] }, 'south holds s at attempt 1'],
  ['runs on two hosts', cell({ guests: new Map([...CELL.guests, ['i', ['s']]]) }), 'runs s, which'],
  ['runs nowhere', cell({ guests: new Map() }), 'north holds s and its host does not'],
  ['is in no cell', cell({ instances: [], guests: new Map() }), 's is mapped to a cell without it'],
  ['is not shown', { index: [] }, 's is mapped and not shown'],
  ['is shown and nowhere', { mappings: [] }, 's is shown and not mapped'],
  ['has an older attempt in its cell', { mappings: [{ ...MAPPING, attempt: 2 }] }, 'at attempt 1'],
  ['is shown as it is not', cell({ instances: [{ ...INSTANCE, host: 'x' }] }), 'the index shows s'],
  ['is still changing', { mappings: [{ ...MAPPING, saga_id: 'x' }] }, 's is still being changed'],
  ['has a stuck saga', { sagas: [{ name: 'boot', state: 'stuck', subject: 's' }] }, 'is stuck'],
  ['has no allocation', cell({ allocations: [] }), 'north holds s without allocation'],
  ['left an allocation', cell({ instances: [] }), 'allocates for s, which is not on'],
  ['is counted wrongly', cell({ allocations: CELL.allocations.slice(1) }), 'counts 2 VCPU, held'],
  ['is not charged', { usages: SOUND.usages.slice(1) }, 'counts 0 instances, promised are 1'],
  ['left a port', { ports: [{ id: 'port', device_id: 'gone' }] }, 'port port belongs to gone'],
])('a server that %s is a problem', (_what, change, problem) => {
  expect(problemsOf({ ...SOUND, ...change }).join('\n')).toContain(problem)
})

test('a ledger that differs, or differed before, is a problem', () => {
  const drifts = [{ ownerId: 'p', resource: 'port', recorded: 2, counted: 1 }]
  const repaired = [{ details: 'of p was recorded as 9' }]

  expect(problemsOf({ ...SOUND, drifts, repaired })).toEqual([
    'p has 1 of port, and 2 are recorded',
    'a ledger had to be corrected: "of p was recorded as 9"',
  ])
})

test('classes of NUMA nodes are counted, bounded, and held where the server is', () => {
  const [vcpu] = CELL.allocations
  const name = 'NUMA_0_VCPU'
  const numa = { vcpus: [0, 0], resources: { 0: { VCPU: 2 } } }
  const problems = (held: number, used: number, limit = 4) =>
    problemsOf({
      ...SOUND,
      ...cell({
        instances: [{ ...INSTANCE, numa }],
        allocations: [...CELL.allocations, { ...vcpu!, resource_class: name, used: held }],
        classes: [{ provider_id: 'h', resource_class: name, limit, used }],
      }),
    })

  expect(problems(2, 2)).toEqual([])
  expect(problems(2, 3)).toEqual([`h counts 3 ${name}, held are 2`])
  expect(problems(2, 2, 1)).toEqual([`h is over its ${name}`])
  expect(problems(1, 1)).toEqual([`s is on 2 ${name}, and holds 1`])
})

test('a provider above its limit is a problem', () => {
  const providers = CELL.providers.map((provider) => ({ ...provider, vcpus_limit: 1 }))

  expect(problemsOf({ ...SOUND, ...cell({ providers }) })).toEqual(['host is over its VCPU'])
})

test.each<[what: string, Partial<Snapshot>, problem: string]>([
  [
    'is still being made',
    volumes({ volumes: [{ ...VOLUME, status: 'creating' }] }),
    'still creating',
  ],
  ['is in two cells', { cells: [CELL, second] }, 'south has volume v, which is not mapped'],
  [
    'is in no cell',
    cell({ volumes: { volumes: [], snapshots: [], copies: [], stores: [] } }),
    'volume v is mapped to a cell without it',
  ],
  [
    'has another size',
    volumes({ volumes: [{ ...VOLUME, size_gb: 4 }] }),
    'shows 4 GiB, north has 5',
  ],
  [
    'is not counted by its store',
    cell({ volumes: { ...CELL.volumes, stores: [{ id: 'store', promised_gb: 12 }] } }),
    'store store of north counts 12 GiB, has 10',
  ],
  ['is not charged', volumes({ quotas: [] }), 'counts 0 gigabytes, promised are 10'],
  [
    'outlives its server in an attachment',
    volumes({ attachments: [{ volume_id: 'v', server_id: 'gone', state: 'attached' }] }),
    'volume v is attached at server gone',
  ],
])('a volume that %s is a problem', (_what, change, problem) => {
  expect(problemsOf({ ...SOUND, ...change }).join('\n')).toContain(problem)
})

test.each<[what: string, Partial<Snapshot>, problem: string]>([
  ['is still being made', volumes({ snapshots: [{ ...KEPT, saga_id: 'x' }] }), 'k is still'],
  ['has no volume', volumes({ snapshots: [{ ...KEPT, volume_id: 'x' }] }), 'which is gone'],
  ['is in no cell', cell({ volumes: { ...CELL.volumes, snapshots: [] } }), 'north, and in null'],
  ['has another size', volumes({ snapshots: [{ ...KEPT, size_gb: 4 }] }), 'snapshot k is mapped'],
  ['nobody knows', volumes({ snapshots: [] }), 'snapshot k is available in north'],
])('a snapshot that %s is a problem', (_what, change, problem) => {
  expect(problemsOf({ ...SOUND, ...change }).join('\n')).toContain(problem)
})
