import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { deletedAttempts } from '../db/operations.ts'

/** The newest attempts of deleted servers of which the cell has nothing left. */
export async function snapshotEnded(
  { conductor }: Cell,
  { serverIds }: CellAsk<'snapshot.ended'>,
): Promise<CellAnswer<'snapshot.ended'>> {
  return { ended: [...(await deletedAttempts(conductor.db, serverIds))] }
}
