import type { Clock } from '#common/clock.ts'
import type { Executor, Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { CellAccess } from '../../cell-client/cell-access.ts'
import { queueEvents } from '../../db/event-inbox.ts'
import { countServersIn, removeCell } from '../../db/remove-cell.ts'
import { countMovesAt } from '../../db/volume-moves.ts'
import { countVolumesIn } from '../../db/volumes.ts'
import { type OperatedCell, updateCell } from './operated-cells.ts'

export interface LeaveDeps {
  readonly db: Transactional
  readonly access: CellAccess
  readonly clock: Clock
}

/** Longer than any gateway takes to notice that a cell gets no new servers. */
const FOLLOWED_MS = 2_000

/**
 * Afterwards the cell is no longer part of this deployment: its credentials are refused and its connections closed.
 * Throws `conflict` while the cell has servers or volumes, and for an unreachable cell, unless it is to be forgotten;
 * `unsupported` where the bus cannot revoke credentials.
 */
export async function leave(
  { db, access, clock }: LeaveDeps,
  cell: OperatedCell,
  isForgotten: boolean,
): Promise<void> {
  access.require()
  await assertNoServers(db, cell)
  if (!isForgotten) {
    await assertNoVolumes(db, cell)
    assertEmpty(cell)
  }
  if (!cell.isDisabled)
    await updateCell(db, cell, { isEnabled: false, disabledReason: 'It is leaving.' })
  // A gateway that has not noticed may have given a server to it meanwhile.
  await clock.sleep(FOLLOWED_MS)
  await db.transaction(async (tx) => {
    await assertNoServers(tx, cell)
    if (!isForgotten) await assertNoVolumes(tx, cell)
    await access.revoke(tx, cell.id)
    await removeCell(tx, cell.id)
    const message = `Cell ${cell.name} has left.`
    const details = { state: 'left', message, cellName: cell.name }
    queueEvents(tx, [{ type: 'cell.state', cellId: cell.id, details }])
  })
  await access.keep()
}

async function assertNoServers(db: Executor, cell: OperatedCell): Promise<void> {
  const servers = await countServersIn(db, cell.id)
  if (servers === 0) return
  throw new Failure(
    'conflict',
    `Cell ${cell.name} has ${servers} ${servers === 1 ? 'server' : 'servers'}. Disable it, and delete or move them first.`,
  )
}

async function assertNoVolumes(db: Executor, { id, name }: OperatedCell): Promise<void> {
  const volumes = await countVolumesIn(db, id)
  const moves = await countMovesAt(db, id)
  if (volumes === 0 && moves > 0)
    throw new Failure(
      'conflict',
      `Cell ${name} is being given volumes of other cells, or has still to delete volumes that have left it (${moves}). Wait until it has, or cancel the moves: ./weir operation list`,
    )
  if (volumes === 0) return
  throw new Failure(
    'conflict',
    `Cell ${name} has ${volumes} ${volumes === 1 ? 'volume' : 'volumes'}. Delete or move them first.`,
  )
}

/** The check uses the cell's own report. */
function assertEmpty({ name, reported }: OperatedCell): void {
  if (reported?.isReachable !== true)
    throw new Failure(
      'conflict',
      `Cell ${name} is unreachable, so its servers are not known. If it no longer exists, forget it: ./weir cell leave ${name} --forget --yes`,
    )
  const servers = reported.summary?.instances ?? 0
  if (servers > 0)
    throw new Failure(
      'conflict',
      `Cell ${name} reports that it still has servers (${servers}). Wait until they are deleted.`,
    )
}
