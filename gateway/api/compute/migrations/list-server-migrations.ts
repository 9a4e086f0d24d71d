import type { operations } from '#openapi/compute.gen.ts'
import { shownMigrations } from '../../../app/migrations/list-migrations.ts'
import { listLiveMigrations } from '../../../app/migrations/live-migrations.ts'
import { liveProgress } from '../../../app/migrations/live-progress.ts'
import type { Handler } from '../../../http/operation.ts'
import { serverMigrationView } from '../../../views/migration.ts'

export const listServerMigrations: Handler<operations['listServerMigrations']> = async (call) => {
  const { app, context, params } = call
  const found = await listLiveMigrations(app.db, context, params.server_id)
  const migrations = await shownMigrations(app.db, found)
  const views = migrations.map(async (migration) =>
    serverMigrationView(migration, await liveProgress(app.compute, context, migration)),
  )
  return { body: { migrations: await Promise.all(views) } }
}
