import type { CellId } from '#common/ids.ts'
import { apiStatus } from '#common/states/instance-states.ts'
import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedCell, listOperatedCells } from '../../app/cells/operated-cells.ts'
import { chainOf } from '../../app/federation/chain.ts'
import type { Phase } from '../../app/federation/phases.ts'
import { repairServer as repair } from '../../app/federation/repair-server.ts'
import { serverCounts } from '../../app/federation/server-counts.ts'
import { operatedServerPage } from '../../app/federation/servers.ts'
import { type TracedServer, traceOfServer } from '../../app/federation/trace.ts'
import { verifyServer as verify } from '../../app/federation/verify-server.ts'
import type { Cells } from '../../app/hosts/host-state.ts'
import { idempotencyKey } from '../../app/idempotency-key.ts'
import { forecastMove } from '../../app/operations/forecast-move.ts'
import { moveToCell } from '../../app/operations/move-to-cell.ts'
import type { ServerRecord } from '../../app/servers/list/server-record.ts'
import { findVisibleServer } from '../../app/servers/list/show-server.ts'
import type { Handler } from '../../http/operation.ts'
import { decisionViews } from '../../views/federation/decision.ts'
import { operationView } from '../../views/federation/operation.ts'

const LIMIT = 1_000

/** GET /v1/servers */
export const listOperatedServers: Handler<operations['listOperatedServers']> = async (call) => {
  const { app, context, query } = call
  const { cells } = app.compute
  const { cell, host, project, status, limit = LIMIT, cursor } = query
  const cellId = cell === undefined ? undefined : (await findOperatedCell(app.db, cells, cell)).id
  const asked = { cellId, host, project, status, limit, cursor }
  const [{ servers, next }, known] = await Promise.all([
    operatedServerPage(app.db, context, asked),
    listOperatedCells(app.db, cells),
  ])
  const names = new Map(known.map(({ id, name }) => [id, name]))
  return { body: { servers: servers.map((server) => operatedServerView(server, names)), next } }
}

/** GET /v1/server-counts */
export const showServerCounts: Handler<operations['showServerCounts']> = async ({ app }) => {
  const { statuses, failedBoots } = await serverCounts(app.db)
  return { body: { server_counts: [...statuses], failed_boots: failedBoots } }
}

/** POST /v1/servers/{server}/move */
export const moveServer: Handler<operations['moveServer']> = async (call) => {
  const { app, context, params, body, links, raw } = call
  const { cells } = app.compute
  const { cell = null, reason = null } = body
  const key = idempotencyKey(context, raw.header('idempotency-key'), [raw.path, body])
  const operation = await moveToCell(app.compute, context, params.server, { to: cell, reason }, key)
  const headers = { Location: links.to(`/federation/v1/operations/${operation.id}`) }
  return { body: operationView(operation, cells), headers }
}

/** GET /v1/servers/{server}/move */
export const forecastServerMove: Handler<operations['forecastServerMove']> = async (call) => {
  const { app, context, params, query } = call
  return { body: await forecastMove(app.compute, context, params.server, query.cell ?? null) }
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

/** A server as operators list it; `cellNames` by the cells' ids. */
function operatedServerView(server: ServerRecord, cellNames: ReadonlyMap<CellId, string>) {
  const { cellId, vmState, taskState, flavor } = server
  return {
    id: server.id,
    name: server.name,
    project_id: server.projectId,
    user_id: server.userId,
    status: apiStatus(vmState, taskState),
    task_state: taskState,
    cell: cellId === null ? null : (cellNames.get(cellId) ?? null),
    cell_id: cellId,
    host: server.host,
    zone: server.zone,
    flavor: {
      name: flavor.name,
      vcpus: flavor.vcpus,
      memory_mb: flavor.memoryMb,
      disk_gb: flavor.rootGb + flavor.ephemeralGb,
    },
    image_id: server.imageId,
    fault: server.fault?.message ?? null,
    created_at: server.createdAt.toISOString(),
    updated_at: server.updatedAt.toISOString(),
  }
}

/** How a server came to where it is, as the federation API shows it. */
function traceView({ server, chain, decisions, phases, hostProblem }: TracedServer, cells: Cells) {
  const { id, cellId, host, vmState, fault } = server
  return {
    server_id: id,
    ...chain,
    cell_id: cellId,
    cell: cellId === null ? null : (cells.cell(cellId)?.name ?? null),
    host,
    host_problem: hostProblem,
    state: vmState,
    fault: fault === null ? null : `${fault.message} ${fault.details}`.trimEnd(),
    decisions: decisionViews(decisions),
    phases: phases.map(phaseView),
  }
}

function phaseView({ name, startedAt, tookMs, result }: Phase) {
  return { name, started_at: new Date(startedAt).toISOString(), took_ms: tookMs, result }
}
