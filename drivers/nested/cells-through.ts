import { type Static, Type } from 'typebox'
import { Failure, isFailure } from '#common/errors.ts'
import { CELLS_BELOW_MAX, CLOUDS_BELOW_MAX } from '#openapi/wire/lookup.ts'
import { Nullable, OneOf, Uuid } from '#openapi/wire/scalars.ts'
import type { CellBelow, CellsAsked, CellsBelow } from '../downstream.ts'
import { cellsOfCloud } from './cells-below.ts'
import type { Cloud } from './cloud/cloud.ts'

const Count = Type.Integer({ minimum: 0 })
const Name = Type.String({ minLength: 1, maxLength: 255 })
const CloudView = Type.Object({
  id: Uuid,
  name: Name,
  state: OneOf(['up', 'cordoned', 'down']),
  servers: Count,
  memory_mb: Nullable(Count),
  memory_mb_used: Count,
})
const CellView = Type.Object({
  name: Name,
  state: OneOf(['up', 'disabled', 'unreachable', 'lost']),
  servers: Nullable(Count),
  hosts: Nullable(Count),
  hosts_up: Nullable(Count),
  memory_mb: Nullable(Count),
  memory_mb_used: Nullable(Count),
  clouds: Type.Array(CloudView),
})
/** What another Weir answers to `GET /hosts/{host}/cells`. */
const Answer = Type.Object({
  hidden: Nullable(OneOf(['not-allowed', 'no-weir'])),
  count: Count,
  cells: Type.Array(CellView),
})

/**
 * The cells of the cloud, or of the last of the clouds below it that are named. Throws as `cloud.ask` does while one of them
 * does not answer, `conflict` and `not-found` with what the cloud says of a name that leads nowhere, or round in a ring.
 */
export async function cellsThrough(
  cloud: Cloud,
  asked: CellsAsked,
  signal: AbortSignal,
): Promise<CellsBelow> {
  const { through, via } = asked
  const [next, ...further] = through
  if (next === undefined) return cellsOfCloud(cloud, asked, signal)
  const path = `/hosts/${encodeURIComponent(next)}/cells`
  const query = further.length === 0 ? {} : { through: further.join(',') }
  try {
    const { body } = await cloud.ask(Answer, 'federation', 'GET', path, { query, via, signal })
    const { hidden, count, cells } = body
    return { hidden, count, cells: withinBounds(cells.slice(0, CELLS_BELOW_MAX)).map(cellOf) }
  } catch (error) {
    if (isFailure(error, 'forbidden')) return { hidden: 'not-allowed', count: 0, cells: [] }
    if (isFailure(error, 'conflict', 'not-found')) throw saidBelow(error)
    throw error
  }
}

/** The same failure with the words of the cloud in its message, which only operators see. */
function saidBelow({ kind, message, detail, cause }: Failure): Failure {
  return new Failure(kind, detail === undefined ? message : `${message} ${detail}`, { cause })
}

/** The same cells with no more clouds than fit into a message, whatever the cloud answers. */
function withinBounds(cells: readonly Static<typeof CellView>[]): Static<typeof CellView>[] {
  let left = CLOUDS_BELOW_MAX
  return cells.map((cell) => {
    const clouds = cell.clouds.slice(0, left)
    left -= clouds.length
    return { ...cell, clouds }
  })
}

function cellOf({
  hosts_up: hostsUp,
  memory_mb: memoryMb,
  memory_mb_used: memoryMbUsed,
  ...cell
}: Static<typeof CellView>): CellBelow {
  const clouds = cell.clouds.map((each) => ({
    id: each.id,
    name: each.name,
    state: each.state,
    servers: each.servers,
    memoryMb: each.memory_mb,
    memoryMbUsed: each.memory_mb_used,
  }))
  const { name, state, servers, hosts } = cell
  return { name, state, servers, hosts, hostsUp, memoryMb, memoryMbUsed, clouds }
}
