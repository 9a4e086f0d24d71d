import type { Executor } from '#common/db/database.ts'
import { findCellRecovery } from '../../db/cell-recoveries.ts'
import { movesOf, namesOfServers } from '../../db/drain-moves.ts'
import { findHostDrain, type OperationRecord } from '../../db/operations.ts'
import { type DrainMove, estimatedEnd, type MoveMethod } from './drain-plan.ts'
import type { RecoverySource } from './recovery-plan.ts'

/** What a drain has done about a server, with the name of that; null: it is forgotten. */
export type NamedMove = DrainMove<MoveMethod | RecoverySource> & { readonly name: string | null }

/** How far a drain has come that moves servers. */
export interface DrainProgress {
  readonly moves: readonly NamedMove[]
  /** Null while it is not known. */
  readonly estimatedEndAt: Date | null
}

/** How many servers it moves at a time; undefined: it moves none. */
async function parallelOf(db: Executor, id: string): Promise<number | undefined> {
  const drain = await findHostDrain(db, id)
  if (drain !== undefined) return drain.movesServers ? drain.parallel : undefined
  return (await findCellRecovery(db, id))?.parallel
}

/** The progress of an operation; undefined for one that moves no servers. */
export async function drainProgress(
  db: Executor,
  { id, state, remaining }: OperationRecord,
  now: Date,
): Promise<DrainProgress | undefined> {
  const parallel = await parallelOf(db, id)
  if (parallel === undefined) return undefined
  const moves = await movesOf<MoveMethod | RecoverySource>(db, id)
  const names = await namesOfServers(
    db,
    moves.map(({ serverId }) => serverId),
  )
  const pace = { remaining: remaining ?? 0, parallel, now }
  const end = state === 'running' && pace.remaining > 0 ? estimatedEnd(moves, pace) : undefined
  return {
    moves: moves.map((move) => ({ ...move, name: names.get(move.serverId) ?? null })),
    estimatedEndAt: end ?? null,
  }
}
