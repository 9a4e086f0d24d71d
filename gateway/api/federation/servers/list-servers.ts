import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedCell, listOperatedCells } from '../../../app/federation/cells.ts'
import { operatedServerPage } from '../../../app/federation/servers.ts'
import type { Handler } from '../../../http/operation.ts'
import { operatedServerView } from '../../../views/federation/server.ts'

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
