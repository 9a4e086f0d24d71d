import { yieldToEventLoop } from '#common/yield-to-event-loop.ts'
import type { operations } from '#openapi/compute.gen.ts'
import { idempotencyKey } from '../../app/idempotency-key.ts'
import { softDeleteServer } from '../../app/servers/acts/delete-server.ts'
import { createServers } from '../../app/servers/boot/create-servers.ts'
import { updateServer as update } from '../../app/servers/edit/update-server.ts'
import { listServers as listPage, type ServerPage } from '../../app/servers/list/list-servers.ts'
import {
  type ShownServer,
  serverExtras,
  showWithExtras,
} from '../../app/servers/list/server-extras.ts'
import type { FoundServer } from '../../app/servers/list/server-record.ts'
import type { Call, Handler } from '../../http/operation.ts'
import { pageLimit } from '../../http/pagination.ts'
import { resourceLinks } from '../../views/links.ts'
import { type ServerView, serverSummaries, serverViewer } from '../../views/server.ts'
import { staleHeaders } from '../../views/stale.ts'
import { nextPageLinks } from './page.ts'
import { serverRequest } from './server-request.ts'

/** A server as what answers with just one shows it. */
export async function oneServer(call: Call, server: FoundServer) {
  const { app, context } = call
  return shownServer(call, { server, extras: await serverExtras(app.compute, context, [server]) })
}

function shownServer({ context, links }: Call, { server, extras }: ShownServer) {
  const view = serverViewer(context, links, extras)
  return { ...view(server), server_groups: server.groupId === null ? [] : [server.groupId] }
}

/** The link to the page after this one, where the list says there is one. */
function serverPageLinks(call: Pick<Call, 'links' | 'raw'>, { next }: ServerPage) {
  return nextPageLinks(call, 'servers_links', { size: 1, limit: 1, last: next })
}

const listServers: Handler<operations['listServers']> = async (call) => {
  const { app, context, query, links } = call
  const limit = pageLimit(query.limit)
  const page = await listPage(app.db, context, query, { rule: 'index', limit })
  return {
    body: { servers: serverSummaries(page.servers, links), ...serverPageLinks(call, page) },
    ...staleHeaders(page.servers, app.compute.cells, context),
  }
}

/** Servers that are read about, shown and written at once: some milliseconds, for which everybody else waits. */
const SLICE = 125

const listServersDetail: Handler<operations['listServersDetail']> = async (call) => {
  const { app, context, query, links } = call
  const limit = pageLimit(query.limit)
  const page = await listPage(app.db, context, query, { rule: 'detail', limit })
  const slices: (() => readonly ServerView[])[] = []
  for (let from = 0; from < page.servers.length; from += SLICE) {
    if (from > 0) await yieldToEventLoop()
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

const showServer: Handler<operations['showServer']> = async (call) => {
  const { app, context, params } = call
  const shown = await showWithExtras(app.compute, context, params.server_id)
  return {
    body: { server: shownServer(call, shown) },
    ...staleHeaders([shown.server], app.compute.cells, context),
  }
}

const createServer: Handler<operations['createServer']> = async (call) => {
  const { app, context, body, links, raw } = call
  const key = idempotencyKey(context, raw.header('idempotency-key'), body)
  const request = serverRequest(body)
  const accepted = await createServers(app, context, request, key)
  if (body.server.return_reservation_id === true)
    return { body: { reservation_id: accepted.reservationId } }
  const [id = ''] = accepted.serverIds
  // Without a port none has an effect, and Nova answers with what was asked for, or would have been.
  const asked = request.securityGroups.length > 0 ? request.securityGroups : ['default']
  const groups = accepted.securityGroups.length > 0 ? accepted.securityGroups : asked
  const self = links.to(`/compute/v2.1/servers/${id}`)
  const server = {
    id,
    links: resourceLinks(links, `/servers/${id}`),
    security_groups: groups.map((name) => ({ name })),
    'OS-DCF:diskConfig': request.diskConfig,
    ...(accepted.adminPassword === null ? {} : { adminPass: accepted.adminPassword }),
  }
  return { body: { server }, headers: { Location: self } }
}

const updateServer: Handler<operations['updateServer']> = async (call) => {
  const { app, context, params, body } = call
  const {
    'OS-DCF:diskConfig': diskConfig,
    pinned_availability_zone: pinnedZone,
    ...rest
  } = body.server
  const change = diskConfig === undefined ? rest : { ...rest, diskConfig }
  const server = await update(app.compute, context, params.server_id, { change, pinnedZone })
  return { body: { server: await oneServer(call, server) } }
}

const deleteServer: Handler<operations['deleteServer']> = async (call) => {
  await softDeleteServer(call.app.compute, call.context, call.params.server_id)
  return {}
}

export const serverHandlers = {
  listServers,
  listServersDetail,
  showServer,
  createServer,
  updateServer,
  deleteServer,
}

/** Servers by the name of the API that alone took block devices once. */
export const volumeBootHandlers = {
  createVolumeBootedServer: createServer,
  deleteVolumeBootedServer: deleteServer,
  listVolumeBootedServers: listServers,
  listVolumeBootedServersDetail: listServersDetail,
  showVolumeBootedServer: showServer,
  updateVolumeBootedServer: updateServer,
}
