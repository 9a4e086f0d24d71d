import { abortServerMigration } from './abort-server-migration.ts'
import { forceServerMigration } from './force-server-migration.ts'
import { listMigrations } from './list-migrations.ts'
import { listServerMigrations } from './list-server-migrations.ts'
import { showServerMigration } from './show-server-migration.ts'

export const migrationHandlers = {
  abortServerMigration,
  forceServerMigration,
  listMigrations,
  listServerMigrations,
  showServerMigration,
}
