import { type Static, Type } from 'typebox'
import { isFailure } from '#common/errors.ts'
import { CELLS_BELOW_MAX } from '#openapi/wire/lookup.ts'
import type { CellBelow, CellsBelow } from '../downstream.ts'
import type { Cloud } from './cloud/cloud.ts'

const Count = Type.Integer({ minimum: 0 })
const Memory = Type.Union([Type.Null(), Type.Object({ memory_mb: Count })])
const Cell = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 255 }),
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

const NONE = { count: 0, cells: [] } as const

/** The cells of the cloud. Throws as `cloud.ask` does while it does not answer. */
export async function cellsBelow(cloud: Cloud, signal: AbortSignal): Promise<CellsBelow> {
  try {
    const { body } = await cloud.ask(Cells, 'federation', 'GET', '/cells', { signal })
    const cells = body.cells.slice(0, CELLS_BELOW_MAX).map(cellOf)
    return { hidden: null, count: body.cells.length, cells }
  } catch (error) {
    if (isFailure(error, 'forbidden')) return { ...NONE, hidden: 'not-allowed' }
    if (isFailure(error, 'unsupported', 'not-found')) return { ...NONE, hidden: 'no-weir' }
    throw error
  }
}

function cellOf({ name, summary, ...cell }: Static<typeof Cell>): CellBelow {
  const room = summary?.limits ?? summary?.total
  return {
    name,
    state: stateOf(cell),
    servers: summary?.servers ?? null,
    hosts: summary?.hosts ?? null,
    hostsUp: summary?.hosts_up ?? null,
    memoryMb: room?.memory_mb ?? null,
    memoryMbUsed: summary?.used?.memory_mb ?? null,
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
