import type { Tx } from '#common/db/database.ts'
import type { InstanceId } from '#common/ids.ts'
import type { MigrationStatus } from '#openapi/wire/migration.ts'
import { queueFeedRow } from '../db/feed.ts'
import { newestMigration, updateMigration } from '../db/server-migrations.ts'
import { release } from '../placement/release.ts'
import type { Conductor } from './conductor.ts'

/** Migrations that hold resources, or are about to. */
export const OPEN_MIGRATIONS: readonly MigrationStatus[] = [
  'running',
  'pre-migrating',
  'migrating',
  'post-migrating',
  'finished',
  'reverting',
]

/** Afterwards the server's migration that is not over yet is over, and holds nothing. Without one nothing happens. */
export async function endMigration(
  { clock }: Pick<Conductor, 'clock'>,
  tx: Tx,
  serverId: InstanceId,
  status: MigrationStatus,
): Promise<void> {
  const migration = await newestMigration(tx, serverId)
  if (migration === undefined || !OPEN_MIGRATIONS.includes(migration.status)) return
  await release(tx, migration.id)
  const { held: _, ...rest } = migration
  const view = { ...rest, version: migration.version + 1, status, updatedAt: clock.now() }
  await updateMigration(tx, view)
  queueFeedRow(tx, [{ kind: 'migration', view }])
}
