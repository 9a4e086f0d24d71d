import type { WorkContext } from '#common/context.ts'
import type { Act } from '#openapi/wire/act.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import type { Cell } from '../cell.ts'
import type { Instance } from '../conductor/instance.ts'
import { newestMigration } from '../db/server-migrations.ts'
import type { MoveRequest } from './begin-move.ts'

/** What confirms or reverts a move between two hosts; undefined for any other act, and where the host stayed the same. */
export async function endOfMove(
  { conductor }: Cell,
  {
    operation,
    act,
    work,
  }: { readonly operation: OperationRef; readonly act: Act; readonly work: WorkContext },
  { id, placed }: Instance,
): Promise<MoveRequest | undefined> {
  if (act.name !== 'confirm-resize' && act.name !== 'revert-resize') return undefined
  const migration = await newestMigration(conductor.db, id)
  if (migration === undefined || migration.sourceHost === placed?.host) return undefined
  const order = {
    migrationId: migration.id,
    build: act.name === 'revert-resize' ? act.build : null,
    userId: migration.userId,
    oldFlavorId: migration.oldFlavorId,
  }
  return { operation, name: act.name, order, work }
}
