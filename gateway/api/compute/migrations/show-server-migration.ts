import type { operations } from '#openapi/compute.gen.ts'
import { shownMigrations } from '../../../app/migrations/list-migrations.ts'
import { showLiveMigration } from '../../../app/migrations/live-migrations.ts'
import { liveProgress } from '../../../app/migrations/live-progress.ts'
import type { Handler } from '../../../http/operation.ts'
import { serverMigrationView } from '../../../views/migration.ts'

export const showServerMigration: Handler<operations['showServerMigration']> = async (call) => {
  const { app, context, params } = call
  const { server_id: id, migration_id: number } = params
  const migration = await showLiveMigration(app.db, context, id, number)
  const progress = await liveProgress(app.compute, context, migration)
  const [shown] = await shownMigrations(app.db, [migration])
  return { body: { migration: serverMigrationView(shown!, progress) } }
}
