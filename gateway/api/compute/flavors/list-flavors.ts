import type { operations } from '#openapi/compute.gen.ts'
import { listFlavors as listPage } from '../../../app/flavors/list-flavors.ts'
import type { Handler } from '../../../http/operation.ts'
import { pageLimit } from '../../../http/pagination.ts'
import { flavorSummary } from '../../../views/flavor.ts'
import { nextPageLinks } from '../page.ts'

export const listFlavors: Handler<operations['listFlavors']> = async (call) => {
  const { app, context, query, links } = call
  const limit = pageLimit(query.limit)
  const page = await listPage(app.db, context, query, limit)
  const next = nextPageLinks(call, 'flavors_links', {
    size: page.length,
    limit,
    last: page.at(-1)?.id,
  })
  return {
    body: { flavors: page.map((flavor) => flavorSummary(flavor, links)), ...next },
  }
}
