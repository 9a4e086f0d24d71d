import type { operations } from '#openapi/compute.gen.ts'
import { listFlavors } from '../../../app/flavors/list-flavors.ts'
import type { Call } from '../../../http/operation.ts'
import { pageLimit } from '../../../http/pagination.ts'
import { nextPageLinks } from '../page.ts'

type Flavor = Awaited<ReturnType<typeof listFlavors>>[number]
type Listing = Call<operations['listFlavors'] | operations['listFlavorsDetail']>

/** The body of a page of flavors, each shown by `view`. */
export async function flavorPage<V>(call: Listing, view: (flavor: Flavor) => V) {
  const { app, context, query } = call
  const limit = pageLimit(query.limit)
  const page = await listFlavors(app.db, context, query, limit)
  const last = page.at(-1)?.id
  const next = nextPageLinks(call, 'flavors_links', { size: page.length, limit, last })
  return { flavors: page.map(view), ...next }
}
