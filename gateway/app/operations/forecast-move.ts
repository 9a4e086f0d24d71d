import { isFailure } from '#common/errors.ts'
import { findOperatedCell } from '../cells/operated-cells.ts'
import type { Compute } from '../compute.ts'
import { whyNotMovable } from '../placement-policies/users-may-move.ts'
import type { RequestContext } from '../request-context.ts'
import { showServer } from '../servers/list/show-server.ts'
import { plannedMove } from './move-to-cell.ts'

/** What a move would do now. */
export interface MoveForecast {
  /** The name of the cell to which the server would go; null: it would not. */
  readonly cell: string | null
  /** Why it would not; null: it would. */
  readonly obstacle: string | null
}

/** What a move of the server would do now; changes nothing. Throws `not-found` for the server and the cell. */
export async function forecastMove(
  compute: Compute,
  context: RequestContext,
  id: string,
  wanted: string | null,
): Promise<MoveForecast> {
  const { db, cells } = compute
  const server = await showServer(db, context, id)
  const to = wanted === null ? null : await findOperatedCell(db, cells, wanted)
  const why = await whyNotMovable(compute, context, server)
  if (why !== undefined)
    return { cell: null, obstacle: `Server ${server.id} cannot be moved: ${why}` }
  try {
    const { chosen } = await db.transaction((tx) => plannedMove(tx, compute, server, to))
    return { cell: chosen.name, obstacle: null }
  } catch (error) {
    if (!isFailure(error, 'conflict', 'unavailable')) throw error
    return { cell: null, obstacle: error.message }
  }
}

/** The same for servers of any project, to any other cell each. Those that are gone are left out. */
export async function forecastMoves(
  compute: Compute,
  context: RequestContext,
  ids: readonly string[],
): Promise<ReadonlyMap<string, MoveForecast>> {
  const moves = new Map<string, MoveForecast>()
  for (const id of ids)
    try {
      moves.set(id, await forecastMove(compute, context, id, null))
    } catch (error) {
      if (!isFailure(error, 'not-found')) throw error
    }
  return moves
}
