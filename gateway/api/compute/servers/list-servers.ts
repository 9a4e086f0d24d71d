import type { operations } from '#openapi/compute.gen.ts'
import { listServers as listPage } from '../../../app/servers/list-servers.ts'
import type { Handler } from '../../../http/operation.ts'
import { pageLimit } from '../../../http/pagination.ts'
import { serverSummaries } from '../../../views/server.ts'
import { staleHeaders } from '../../../views/stale.ts'
import { serverPageLinks } from './page-links.ts'

export const listServers: Handler<operations['listServers']> = async (call) => {
  const { app, context, query, links } = call
  const limit = pageLimit(query.limit)
  const page = await listPage(app.db, context, query, { rule: 'index', limit })
  return {
    body: { servers: serverSummaries(page.servers, links), ...serverPageLinks(call, page) },
    ...staleHeaders(page.servers, app.compute.cells, context),
  }
}
