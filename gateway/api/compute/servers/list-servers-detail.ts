import type { operations } from '#openapi/compute.gen.ts'
import { listServers as listPage } from '../../../app/servers/list-servers.ts'
import { serverExtras } from '../../../app/servers/server-extras.ts'
import { serverWishes } from '../../../app/servers/server-wishes.ts'
import type { Handler } from '../../../http/operation.ts'
import { pageLimit } from '../../../http/pagination.ts'
import { serverViewer } from '../../../views/server.ts'
import { staleHeaders } from '../../../views/stale.ts'
import { serverPageLinks } from './page-links.ts'

export const listServersDetail: Handler<operations['listServersDetail']> = async (call) => {
  const { app, context, query, links } = call
  const limit = pageLimit(query.limit)
  const page = await listPage(app.db, context, query, { rule: 'detail', limit })
  const [extras, wishes] = await Promise.all([
    serverExtras(app.compute, context, page.servers),
    serverWishes(app.db, context, page.servers),
  ])
  const view = serverViewer(context, links, { extras, wishes })
  return {
    body: { servers: page.servers.map(view), ...serverPageLinks(call, page) },
    ...staleHeaders(page.servers, app.compute.cells, context),
  }
}
