import { nodeResources } from '#cells/placement/choose-nodes.ts'
import { readNodeClass } from '#common/numa-providers.ts'
import type { NumaAllocation } from '#openapi/wire/numa.ts'
import type { CellSnapshot, MappingRow, Snapshot } from './snapshot.ts'
import { volumeProblems } from './volumes.ts'

/** The violated invariants of a cloud in which no work is in progress; empty when every invariant holds. */
export function problemsOf(snapshot: Snapshot): readonly string[] {
  return [
    ...unrest(snapshot),
    ...misplaced(snapshot),
    ...snapshot.cells.flatMap(guestProblems),
    ...snapshot.cells.flatMap(claimProblems),
    ...snapshot.cells.flatMap(classProblems),
    ...quotaProblems(snapshot),
    ...driftProblems(snapshot),
    ...leftovers(snapshot),
    ...volumeProblems(snapshot.volumes, snapshot.cells, serversOf(snapshot)),
  ]
}

/** A state is left behind when its saga is gone, and unfinished while it is not. */
function unrest({ sagas, mappings, index, cells }: Snapshot): readonly string[] {
  const open = [...sagas, ...cells.flatMap((cell) => cell.sagas)]
  return [
    ...open.map(({ name, state, subject }) => `saga ${name} of ${subject} is ${state}`),
    ...mappings
      .filter((row) => row.saga_id !== null || row.is_deleting !== 0)
      .map((row) => `server ${row.server_id} is still being changed`),
    ...index
      .filter((row) => row.task_state !== null || row.vm_state === 'building')
      .map((row) => `server ${row.server_id} shows ${row.vm_state}/${row.task_state}`),
    ...cells.flatMap(({ instances }) =>
      instances
        .filter((row) => row.saga_id !== null || row.task_state !== null)
        .map((row) => `instance ${row.server_id} is still being changed`),
    ),
  ]
}

/** One server, one cell: the one its mapping names, which is also what the index shows. */
function misplaced({ mappings, index, cells }: Snapshot): readonly string[] {
  const mapped = new Map(mappings.map((row) => [row.server_id, row]))
  const shown = new Map(index.map((row) => [row.server_id, row]))
  const problems: string[] = []
  for (const cell of cells)
    for (const { server_id: id, attempt, vm_state, host } of cell.instances) {
      const mapping = mapped.get(id)
      if (mapping?.cell_id !== cell.id || mapping.attempt !== attempt)
        problems.push(`${cell.name} holds ${id} at attempt ${attempt}, which is not mapped to it`)
      const row = shown.get(id)
      if (row?.vm_state !== vm_state || row.host !== host)
        problems.push(
          `the index shows ${id} as ${row?.vm_state} on ${row?.host}, its cell has ${vm_state} on ${host}`,
        )
    }
  const held = new Set(cells.flatMap(({ instances }) => instances.map((row) => row.server_id)))
  for (const { server_id: id, cell_id } of mappings) {
    if (cell_id !== null && !held.has(id)) problems.push(`${id} is mapped to a cell without it`)
    if (!shown.has(id)) problems.push(`${id} is mapped and not shown`)
  }
  for (const id of shown.keys()) if (!mapped.has(id)) problems.push(`${id} is shown and not mapped`)
  return problems
}

/** A host runs exactly the guests its cell placed there. */
function guestProblems({ name, instances, guests }: CellSnapshot): readonly string[] {
  const problems: string[] = []
  const placed = new Map(instances.map((row) => [row.server_id, row]))
  for (const [hostId, ids] of guests)
    for (const id of ids)
      if (placed.get(id)?.host_id !== hostId)
        problems.push(`a host of ${name} runs ${id}, which is not placed there`)
  for (const { server_id: id, host_id, vm_state } of instances)
    if (vm_state !== 'error' && guests.get(host_id)?.includes(id) !== true)
      problems.push(`${name} holds ${id} and its host does not`)
  return problems
}

const CLASSES = [
  ['VCPU', 'vcpus_limit'],
  ['MEMORY_MB', 'memory_mb_limit'],
  ['DISK_GB', 'disk_gb_limit'],
] as const

/** The claims on a provider must equal the allocations of its servers, and stay within its limit. */
function claimProblems({ name, instances, providers, allocations }: CellSnapshot): string[] {
  const problems: string[] = []
  const placed = new Map(instances.map((row) => [row.server_id, row.host_id]))
  for (const { consumer_id, provider_id } of allocations)
    if (placed.get(consumer_id) !== provider_id)
      problems.push(`${name} allocates for ${consumer_id}, which is not on that provider`)
  for (const provider of providers) {
    const own = allocations.filter((row) => row.provider_id === provider.id)
    for (const [resource, limit] of CLASSES) {
      const used = sum(own.filter((row) => row.resource_class === resource).map((row) => row.used))
      if (used !== provider[resource])
        problems.push(`${provider.name} counts ${provider[resource]} ${resource}, held are ${used}`)
      if (used > provider[limit]) problems.push(`${provider.name} is over its ${resource}`)
    }
    const consumers = new Set(own.map((row) => row.consumer_id)).size
    if (consumers !== provider.instances)
      problems.push(`${provider.name} counts ${provider.instances} servers, held are ${consumers}`)
  }
  for (const { server_id, host_id } of instances)
    if (!allocations.some((row) => row.consumer_id === server_id && row.provider_id === host_id))
      problems.push(`${name} holds ${server_id} without allocation`)
  return problems
}

/** The same of the classes that not every host has, those of NUMA nodes among them, which servers hold where they are. */
function classProblems({ instances, allocations, classes }: CellSnapshot): string[] {
  const problems: string[] = []
  for (const { provider_id, resource_class, limit, used } of classes) {
    const own = allocations.filter(
      (row) => row.provider_id === provider_id && row.resource_class === resource_class,
    )
    const held = sum(own.map((row) => row.used))
    if (held !== used)
      problems.push(`${provider_id} counts ${used} ${resource_class}, held are ${held}`)
    if (used > limit && readNodeClass(resource_class) !== undefined)
      problems.push(`${provider_id} is over its ${resource_class}`)
  }
  for (const { server_id, host_id, numa = null } of instances) {
    const known = typeof numa === 'string' ? (JSON.parse(numa) as NumaAllocation | null) : numa
    if (known === null) continue
    for (const [name, amount] of Object.entries(nodeResources(known).custom ?? {})) {
      const rows = allocations.filter(
        (row) =>
          row.consumer_id === server_id &&
          row.provider_id === host_id &&
          row.resource_class === name,
      )
      const held = sum(rows.map((row) => row.used))
      // More while its resize waits to be confirmed.
      if (held < amount) problems.push(`${server_id} is on ${amount} ${name}, and holds ${held}`)
    }
  }
  return problems
}

const COUNTED: readonly (readonly [string, (row: MappingRow) => number])[] = [
  ['instances', () => 1],
  ['cores', (row) => row.cores],
  ['ram', (row) => row.ram_mb],
]

/** The ledger has what was promised and is not yet confirmed gone. */
function quotaProblems({ mappings, usages }: Snapshot): readonly string[] {
  const projects = new Set([
    ...mappings.map((row) => row.project_id),
    ...usages.map((row) => row.owner_id),
  ])
  return [...projects].flatMap((project) =>
    COUNTED.flatMap(([resource, of]) => {
      const promised = sum(
        mappings.filter((row) => row.project_id === project && row.is_charged === 1).map(of),
      )
      const row = usages.find((each) => each.owner_id === project && each.resource === resource)
      const used = row?.used ?? 0
      return used === promised
        ? []
        : [`quota of ${project} counts ${used} ${resource}, promised are ${promised}`]
    }),
  )
}

/** What a reconciler would have to correct, or had to: by it a project passed its limit, or missed room, for a minute. */
function driftProblems({ drifts, repaired }: Snapshot): readonly string[] {
  return [
    ...drifts.map(
      ({ ownerId, resource, recorded, counted }) =>
        `${ownerId} has ${counted} of ${resource}, and ${recorded} are recorded`,
    ),
    ...repaired.map(({ details }) => `a ledger had to be corrected: ${JSON.stringify(details)}`),
  ]
}

function serversOf({ mappings }: Pick<Snapshot, 'mappings'>): ReadonlySet<string> {
  return new Set(mappings.map((row) => row.server_id))
}

function leftovers({ mappings, ports }: Snapshot): readonly string[] {
  const servers = serversOf({ mappings })
  return ports
    .filter((port) => !servers.has(port.device_id))
    .map((port) => `port ${port.id} belongs to ${port.device_id}, which is gone`)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
