import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedCell, listOperatedCells } from '../../app/cells/operated-cells.ts'
import { chainOf } from '../../app/federation/chain.ts'
import { repairServer as repair } from '../../app/federation/repair-server.ts'
import { operatedServerPage } from '../../app/federation/servers.ts'
import { traceOfServer } from '../../app/federation/trace.ts'
import { verifyServer as verify } from '../../app/federation/verify-server.ts'
import { findVisibleServer } from '../../app/servers/list/show-server.ts'
import type { Handler } from '../../http/operation.ts'
import { operatedServerView } from '../../views/federation/server.ts'
import { traceView } from '../../views/federation/trace.ts'

const LIMIT = 1_000

/** GET /v1/servers */
export const listOperatedServers: Handler<operations['listOperatedServers']> = async (call) => {
  const { app, query } = call
  const { cells } = app.compute
  const { cell, host, project, status, limit = LIMIT, cursor } = query
  const cellId = cell === undefined ? undefined : (await findOperatedCell(app.db, cells, cell)).id
  const asked = { cellId, host, projectId: project, status, limit, cursor }
  const [{ servers, next }, known] = await Promise.all([
    operatedServerPage(app.db, asked),
    listOperatedCells(app.db, cells),
  ])
  const names = new Map(known.map(({ id, name }) => [id, name]))
  return { body: { servers: servers.map((server) => operatedServerView(server, names)), next } }
}

/** POST /v1/servers/{server}/verification */
export const repairServer: Handler<operations['repairServer']> = async (call) => {
  const { app, context, params } = call
  const { serverId, findings } = await repair(app.compute, context, params.server)
  return { body: { server_id: serverId, findings: [...findings] } }
}

/** GET /v1/servers/{server}/chain */
export const showChain: Handler<operations['showChain']> = async ({ app, context, params }) => {
  const server = await findVisibleServer(app.db, context, params.server, true)
  const { above, below } = await chainOf(app.compute, context, server)
  return { body: { server_id: server.id, above, below } }
}

/** GET /v1/servers/{server}/trace */
export const showTrace: Handler<operations['showTrace']> = async ({ app, context, params }) => {
  const traced = await traceOfServer(app.compute, context, params.server)
  return { body: traceView(traced, app.compute.cells) }
}

/** GET /v1/servers/{server}/verification */
export const verifyServer: Handler<operations['verifyServer']> = async (call) => {
  const { app, context, params } = call
  const { serverId, findings } = await verify(app.compute, context, params.server)
  return { body: { server_id: serverId, findings: [...findings] } }
}
