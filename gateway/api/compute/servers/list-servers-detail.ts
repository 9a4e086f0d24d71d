import { turn } from '#common/turn.ts'
import type { operations } from '#openapi/compute.gen.ts'
import { listServers as listPage } from '../../../app/servers/list-servers.ts'
import { serverExtras } from '../../../app/servers/server-extras.ts'
import type { Handler } from '../../../http/operation.ts'
import { pageLimit } from '../../../http/pagination.ts'
import { type ServerView, serverViewer } from '../../../views/server.ts'
import { staleHeaders } from '../../../views/stale.ts'
import { serverPageLinks } from './page-links.ts'

/** Servers that are read about, shown and written at once: some milliseconds, for which everybody else waits. */
const SLICE = 125

export const listServersDetail: Handler<operations['listServersDetail']> = async (call) => {
  const { app, context, query, links } = call
  const limit = pageLimit(query.limit)
  const page = await listPage(app.db, context, query, { rule: 'detail', limit })
  const slices: (() => readonly ServerView[])[] = []
  for (let from = 0; from < page.servers.length; from += SLICE) {
    if (from > 0) await turn()
    const servers = page.servers.slice(from, from + SLICE)
    const view = serverViewer(context, links, await serverExtras(app.compute, context, servers))
    slices.push(() => servers.map(view))
  }
  return {
    body: { servers: [], ...serverPageLinks(call, page) },
    list: { name: 'servers', slices },
    ...staleHeaders(page.servers, app.compute.cells, context),
  }
}
