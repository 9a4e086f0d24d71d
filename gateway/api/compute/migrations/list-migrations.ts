import type { operations } from '#openapi/compute.gen.ts'
import { listMigrations as list, shownMigrations } from '../../../app/migrations/list-migrations.ts'
import type { Handler } from '../../../http/operation.ts'
import { pageLimit } from '../../../http/pagination.ts'
import { migrationView } from '../../../views/migration.ts'
import { nextPageLinks } from '../page.ts'

export const listMigrations: Handler<operations['listMigrations']> = async (call) => {
  const { app, query, links } = call
  const limit = pageLimit(query.limit)
  const page = await list(app.db, { ...query, limit })
  const last = page.at(-1)?.uuid
  const next = nextPageLinks(call, 'migrations_links', { size: page.length, limit, last })
  const shown = await shownMigrations(app.db, page)
  return { body: { migrations: shown.map((each) => migrationView(each, links)), ...next } }
}
