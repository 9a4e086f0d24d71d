import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { CellLimits } from '../../db/placement-policies.ts'
import { projectUse } from '../../db/project-use.ts'
import type { CellChoice } from '../cells/choose-cell.ts'
import { exceededLimit, NO_USE } from './cell-limits.ts'
import { isTooUneven, type SpreadState } from './spread.ts'

/** What a policy requires of all servers of a project together, which others may change until the servers are written. */
export interface PlacementPromise {
  readonly projectId: string
  /** Null: none is required. */
  readonly spread: SpreadState | null
  /** Null: none. */
  readonly limits: CellLimits | null
}

/** Others of the project were placed at the same moment, and this choice no longer keeps what the policy requires. */
export class PlacedMeanwhile extends Failure {
  constructor() {
    super(
      'conflict',
      'Other servers of the project are being placed at the same moment. Please try again.',
    )
  }
}

/** What the policy of these servers requires of all servers of the project; null: nothing. */
export function promiseOf([first]: readonly CellChoice[]): PlacementPromise | null {
  if (first === undefined || first.request.policy === null) return null
  const { policy, spread } = first.request
  const required = spread?.isRequired ? spread : null
  const { limits } = policy.rules
  if (required === null && limits === null) return null
  return { projectId: policy.projectId, spread: required, limits }
}

/**
 * Throws `PlacedMeanwhile` where the servers in these cells break the promise. The transaction must have charged the project: others
 * that place its servers wait for that, so what is counted here is still true at the commit.
 */
export async function assertKept(
  tx: Tx,
  { projectId, spread, limits }: PlacementPromise,
  cellIds: readonly (string | null)[],
): Promise<void> {
  const chosen = [...new Set(cellIds)].filter((id) => id !== null)
  const use = await projectUse(tx, projectId)
  const isUneven = (id: string) => spread !== null && isTooUneven(spread, use, id)
  const isOver = (id: string) =>
    limits !== null && exceededLimit(limits, use.get(id) ?? NO_USE) !== undefined
  if (chosen.some((id) => isUneven(id) || isOver(id))) throw new PlacedMeanwhile()
}
