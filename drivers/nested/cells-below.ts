import { type Static, Type } from 'typebox'
import { isFailure } from '#common/errors.ts'
import { CELLS_BELOW_MAX, CLOUDS_BELOW_MAX } from '#openapi/wire/lookup.ts'
import { Uuid } from '#openapi/wire/scalars.ts'
import type { CellBelow, CellsAsked, CellsBelow, CloudBelow } from '../downstream.ts'
import type { Cloud } from './cloud/cloud.ts'

const Count = Type.Integer({ minimum: 0 })
const Name = Type.String({ minLength: 1, maxLength: 255 })
const Memory = Type.Union([Type.Null(), Type.Object({ memory_mb: Count })])
const Cell = Type.Object({
  id: Uuid,
  name: Name,
  is_enabled: Type.Boolean(),
  is_reachable: Type.Boolean(),
  loss: Type.Union([Type.Null(), Type.Object({})]),
  summary: Type.Union([
    Type.Null(),
    Type.Object({
      servers: Count,
      hosts: Count,
      hosts_up: Count,
      used: Type.Optional(Memory),
      total: Type.Optional(Memory),
      limits: Type.Optional(Memory),
    }),
  ]),
})
const Cells = Type.Object({ cells: Type.Array(Cell) })
const Host = Type.Object({
  id: Uuid,
  name: Name,
  cell_id: Uuid,
  is_up: Type.Boolean(),
  is_cordoned: Type.Boolean(),
  servers: Count,
  total: Memory,
  used: Type.Object({ memory_mb: Count }),
  ratios: Type.Object({ memory_mb: Type.Number({ minimum: 0 }) }),
})
const Hosts = Type.Object({ hosts: Type.Array(Host) })

const NONE = { count: 0, cells: [] } as const

/** The cells of the cloud, and which of their hosts are clouds. Throws as `cloud.ask` does while it does not answer. */
export async function cellsOfCloud(
  cloud: Cloud,
  { via }: Pick<CellsAsked, 'via'>,
  signal: AbortSignal,
): Promise<CellsBelow> {
  try {
    const asked = { via, signal }
    const { body } = await cloud.ask(Cells, 'federation', 'GET', '/cells', asked)
    const query = { capability: 'below', limit: String(CLOUDS_BELOW_MAX) }
    const { hosts } = (await cloud.ask(Hosts, 'federation', 'GET', '/hosts', { ...asked, query }))
      .body
    // Whatever the cloud answers, no more than fit into a message.
    const known = hosts.slice(0, CLOUDS_BELOW_MAX)
    const clouds = Map.groupBy(known, ({ cell_id: cellId }) => cellId)
    const cells = body.cells
      .slice(0, CELLS_BELOW_MAX)
      .map((cell) => cellOf(cell, (clouds.get(cell.id) ?? []).map(cloudOf)))
    return { hidden: null, count: body.cells.length, cells }
  } catch (error) {
    if (isFailure(error, 'forbidden')) return { ...NONE, hidden: 'not-allowed' }
    if (isFailure(error, 'unsupported', 'not-found')) return { ...NONE, hidden: 'no-weir' }
    throw error
  }
}

function cellOf(
  { name, summary, ...cell }: Static<typeof Cell>,
  clouds: readonly CloudBelow[],
): CellBelow {
  const room = summary?.limits ?? summary?.total
  return {
    name,
    state: stateOf(cell),
    servers: summary?.servers ?? null,
    hosts: summary?.hosts ?? null,
    hostsUp: summary?.hosts_up ?? null,
    memoryMb: room?.memory_mb ?? null,
    memoryMbUsed: summary?.used?.memory_mb ?? null,
    clouds,
  }
}

function stateOf({
  loss,
  is_reachable: isReachable,
  is_enabled: isEnabled,
}: Pick<Static<typeof Cell>, 'loss' | 'is_reachable' | 'is_enabled'>): CellBelow['state'] {
  if (loss !== null) return 'lost'
  if (!isReachable) return 'unreachable'
  return isEnabled ? 'up' : 'disabled'
}

function cloudOf(host: Static<typeof Host>): CloudBelow {
  const { id, name, is_up: isUp, is_cordoned: isCordoned, servers, total, used, ratios } = host
  return {
    id,
    name,
    state: isUp ? (isCordoned ? 'cordoned' : 'up') : 'down',
    servers,
    memoryMb: total === null ? null : Math.floor(total.memory_mb * ratios.memory_mb),
    memoryMbUsed: used.memory_mb,
  }
}
