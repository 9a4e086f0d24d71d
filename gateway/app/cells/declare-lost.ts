import type { Clock } from '#common/clock.ts'
import type { Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { CellAccess } from '../../cell-client/cell-access.ts'
import { KNOWN_EVERYWHERE_MS } from '../../cell-client/registry.ts'
import { queueEvents } from '../../db/event-inbox.ts'
import type { IdempotencyKey } from '../../db/idempotency-keys.ts'
import { insertLoss } from '../../db/lost-cells.ts'
import { oncePerKey } from '../once-per-key.ts'
import type { OperatedCell } from './operated-cells.ts'

export interface LostDeps {
  readonly db: Transactional
  readonly access: CellAccess
  readonly clock: Clock
}

/**
 * Afterwards the cell's credentials are refused, no gateway asks it anything, and its servers are taken from it, one
 * after the other. Throws `conflict` for a cell that is reachable, or was declared lost before under another key, and
 * `unsupported` where the bus cannot revoke credentials.
 */
export async function declareLost(
  { db, access, clock }: LostDeps,
  cell: OperatedCell,
  loss: { readonly by: string; readonly statement: string },
  key: IdempotencyKey | null,
): Promise<void> {
  access.require()
  if (cell.reported?.isReachable === true)
    throw new Failure(
      'conflict',
      `Cell ${cell.name} can be reached, so that its servers can be moved or deleted: only an unreachable cell is lost.`,
    )
  await oncePerKey(db, key, async (tx) => {
    if (!(await insertLoss(tx, cell.id, loss)))
      throw new Failure('conflict', `Cell ${cell.name} was declared lost before.`)
    await access.revoke(tx, cell.id)
    const details = { userId: loss.by, state: 'lost', message: loss.statement }
    queueEvents(tx, [{ type: 'cell.state', cellId: cell.id, details }])
    return { cellId: cell.id }
  })
  await access.keep()
  // A gateway that did not know that the cell is lost would serve it as soon as it is back.
  await clock.sleep(KNOWN_EVERYWHERE_MS)
}
