import type { Executor } from '#common/db/database.ts'
import { movesOf, namesOfServers } from '../../db/drain-moves.ts'
import { findHostDrain, type OperationRecord } from '../../db/operations.ts'
import { type DrainMove, estimatedEnd } from './drain-plan.ts'

/** What a drain has done about a server, with the name of that; null: it is forgotten. */
export type NamedMove = DrainMove & { readonly name: string | null }

/** How far a drain has come that moves servers. */
export interface DrainProgress {
  readonly moves: readonly NamedMove[]
  /** Null while it is not known. */
  readonly estimatedEndAt: Date | null
}

/** The progress of an operation; undefined for one that moves no servers. */
export async function drainProgress(
  db: Executor,
  { id, state, remaining }: OperationRecord,
  now: Date,
): Promise<DrainProgress | undefined> {
  const drain = await findHostDrain(db, id)
  if (drain?.movesServers !== true) return undefined
  const moves = await movesOf(db, id)
  const names = await namesOfServers(
    db,
    moves.map(({ serverId }) => serverId),
  )
  const pace = { remaining: remaining ?? 0, parallel: drain.parallel, now }
  const end = state === 'running' && pace.remaining > 0 ? estimatedEnd(moves, pace) : undefined
  return {
    moves: moves.map((move) => ({ ...move, name: names.get(move.serverId) ?? null })),
    estimatedEndAt: end ?? null,
  }
}
