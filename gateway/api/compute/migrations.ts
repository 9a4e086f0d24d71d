import type { operations } from '#openapi/compute.gen.ts'
import { listMigrations as list, shownMigrations } from '../../app/migrations/list-migrations.ts'
import {
  endLiveMigration,
  listLiveMigrations,
  showLiveMigration,
} from '../../app/migrations/live-migrations.ts'
import { liveProgress } from '../../app/migrations/live-progress.ts'
import type { Handler } from '../../http/operation.ts'
import { pageLimit } from '../../http/pagination.ts'
import { migrationView, serverMigrationView } from '../../views/migration.ts'
import { isSince } from '../../views/since.ts'
import { nextPageLinks } from './page.ts'

const abortServerMigration: Handler<operations['abortServerMigration']> = async (call) => {
  const { app, context, params } = call
  await endLiveMigration(app.compute, context, params.server_id, params.migration_id, {
    action: 'abort-migration',
    method: 'abort live migration',
    // Since 2.65 also one that waits for its turn.
    from: isSince(context, '2.65') ? ['running', 'queued', 'preparing'] : ['running'],
    missing: 'not-found',
  })
  return {}
}

const forceServerMigration: Handler<operations['forceServerMigration']> = async (call) => {
  const { app, context, params } = call
  await endLiveMigration(app.compute, context, params.server_id, params.migration_id, {
    action: 'force-complete',
    method: 'force complete',
    from: ['running'],
    missing: 'invalid',
  })
  return {}
}

const listMigrations: Handler<operations['listMigrations']> = async (call) => {
  const { app, query, links } = call
  const limit = pageLimit(query.limit)
  const page = await list(app.db, { ...query, limit })
  const last = page.at(-1)?.uuid
  const next = nextPageLinks(call, 'migrations_links', { size: page.length, limit, last })
  const shown = await shownMigrations(app.db, page)
  return { body: { migrations: shown.map((each) => migrationView(each, links)), ...next } }
}

const listServerMigrations: Handler<operations['listServerMigrations']> = async (call) => {
  const { app, context, params } = call
  const found = await listLiveMigrations(app.db, context, params.server_id)
  const migrations = await shownMigrations(app.db, found)
  const views = migrations.map(async (migration) =>
    serverMigrationView(migration, await liveProgress(app.compute, context, migration)),
  )
  return { body: { migrations: await Promise.all(views) } }
}

const showServerMigration: Handler<operations['showServerMigration']> = async (call) => {
  const { app, context, params } = call
  const { server_id: id, migration_id: number } = params
  const migration = await showLiveMigration(app.db, context, id, number)
  const progress = await liveProgress(app.compute, context, migration)
  const [shown] = await shownMigrations(app.db, [migration])
  return { body: { migration: serverMigrationView(shown!, progress) } }
}

export const migrationHandlers = {
  abortServerMigration,
  forceServerMigration,
  listMigrations,
  listServerMigrations,
  showServerMigration,
}
