import { reservedOf } from '#common/reserved.ts'
import { apiStatus, POWER_STATES } from '#common/states/instance-states.ts'
import type { operations } from '#openapi/federation.gen.ts'
import type { UnmanagedGuest } from '#openapi/wire/host.ts'
import type { WireCellsBelow } from '#openapi/wire/lookup.ts'
import { adoptGuest as adopt } from '../../app/adoption/adopt-guest.ts'
import { listUnmanagedGuests as list } from '../../app/adoption/unmanaged-guests.ts'
import { findOperatedCell } from '../../app/cells/operated-cells.ts'
import { cellsBelow } from '../../app/federation/cells-below.ts'
import { findOperatedHost, hostPage, hostServerPage } from '../../app/federation/hosts.ts'
import { shutOutHost as shutOut } from '../../app/federation/shut-out-host.ts'
import { type Cells, isHostUp } from '../../app/hosts/host-state.ts'
import { setService } from '../../app/hosts/services.ts'
import { idempotencyKey } from '../../app/idempotency-key.ts'
import { drainHost as drain } from '../../app/operations/drain-host.ts'
import { forecastMoves } from '../../app/operations/forecast-move.ts'
import type { HostRecord } from '../../db/host-list.ts'
import { requireMatch } from '../../http/entity-tag.ts'
import type { Handler } from '../../http/operation.ts'
import { hopsOf } from '../../http/refuse-ring.ts'
import { operationView } from '../../views/federation/operation.ts'
import { resources } from '../../views/federation/resources.ts'

/** POST /v1/hosts/{host}/adopt */
export const adoptGuest: Handler<operations['adoptGuest']> = async (call) => {
  const { app, context, params, body, links, raw } = call
  const host = await findOperatedHost(app.db, params.host)
  const key = idempotencyKey(context, raw.header('idempotency-key'), [raw.path, body])
  const serverId = await adopt(app, context, host, body, key)
  const headers = { Location: links.to(`/compute/v2.1/servers/${serverId}`) }
  return { body: { server_id: serverId }, headers }
}

/** POST /v1/hosts/{host}/drain */
export const drainHost: Handler<operations['drainHost']> = async (call) => {
  const { app, context, params, body, links, raw } = call
  const host = await findOperatedHost(app.db, params.host)
  const key = idempotencyKey(context, raw.header('idempotency-key'), [raw.path, body])
  const { reason = null, move = true, parallel = 2, live_only: liveOnly = false } = body
  const { to_other_cells: toOtherCells = false, evacuate: evacuates = false } = body
  const { deadline_s: deadlineS = null } = body
  const how = { parallel, liveOnly, toOtherCells, evacuates, deadlineS }
  const options = { reason, movesServers: move, ...how, fencedAt: null }
  const operation = await drain(app.db, context, host, options, key)
  const headers = { Location: links.to(`/federation/v1/operations/${operation.id}`) }
  return { body: operationView(operation, app.compute.cells), headers }
}

const SERVERS_LIMIT = 1_000

/** GET /v1/hosts/{host}/servers */
export const listHostServers: Handler<operations['listHostServers']> = async (call) => {
  const { app, context, params, query } = call
  const { limit = SERVERS_LIMIT, cursor } = query
  const host = await findOperatedHost(app.db, params.host)
  const { servers, next } = await hostServerPage(app.db, host, { limit, cursor })
  const asked = query.to_other_cells === true ? servers.map(({ id }) => id) : []
  const moves = await forecastMoves(app.compute, context, asked)
  return {
    body: {
      servers: servers.map(({ id, name, projectId, vmState, taskState }) => ({
        id,
        name,
        project_id: projectId,
        status: apiStatus(vmState, taskState),
        ...(moves.has(id) && { move: moves.get(id)! }),
      })),
      next,
    },
  }
}

const LIMIT = 1_000

/** GET /v1/hosts */
export const listHosts: Handler<operations['listHosts']> = async ({ app, query, links, raw }) => {
  const { cells } = app.compute
  const { limit = LIMIT, cursor, capability } = query
  const cellId =
    query.cell === undefined ? undefined : (await findOperatedCell(app.db, cells, query.cell)).id
  const { hosts, next } = await hostPage(app.db, { cellId, capability, limit, cursor })
  const body = { hosts: hosts.map((host) => hostView(host, cells)), next }
  if (next === null) return { body }
  const search = new URLSearchParams(raw.search)
  search.set('cursor', next)
  const href = links.to(`${raw.path}?${search.toString()}`)
  return { body, headers: { Link: `<${href}>; rel="next"` } }
}

/** GET /v1/hosts/{host}/cells */
export const listCellsBelow: Handler<operations['listCellsBelow']> = async (call) => {
  const { app, context, params, query, raw } = call
  const host = await findOperatedHost(app.db, params.host)
  const asked = { through: query.through?.split(',') ?? [], via: hopsOf(raw.header) }
  const { hidden, count, cells } = await cellsBelow(app.compute, context, host, asked)
  return { body: { hidden, count, cells: cells.map(cellBelowView) } }
}

/** GET /v1/hosts/{host}/guests */
export const listUnmanagedGuests: Handler<operations['listUnmanagedGuests']> = async (call) => {
  const { app, context, params } = call
  const host = await findOperatedHost(app.db, params.host)
  const guests = await list(app.compute, context, host)
  return { body: { guests: guests.map(unmanagedGuestView) } }
}

/** GET /v1/hosts/{host} */
export const showHost: Handler<operations['showHost']> = async ({ app, params }) => {
  const host = await findOperatedHost(app.db, params.host)
  return { body: hostView(host, app.compute.cells), headers: { ETag: hostTag(host) } }
}

/** DELETE /v1/hosts/{host}/credentials */
export const shutOutHost: Handler<operations['shutOutHost']> = async ({ app, params }) => {
  await shutOut(app.db, app.access, await findOperatedHost(app.db, params.host))
  return {}
}

/** PATCH /v1/hosts/{host} */
export const updateHost: Handler<operations['updateHost']> = async (call) => {
  const { app, context, params, body, raw } = call
  const found = await findOperatedHost(app.db, params.host)
  requireMatch(raw.header('if-match'), hostTag(found))
  const { is_cordoned: isDisabled, cordon_reason: disabledReason } = body
  const change = { isDisabled, ...(disabledReason === undefined ? {} : { disabledReason }) }
  const host = await setService(app.compute, context, found, change)
  return { body: hostView(host, app.compute.cells), headers: { ETag: hostTag(host) } }
}

/** A host as the federation API shows it. */
function hostView(host: HostRecord, cells: Cells) {
  const { cellId, view } = host
  return {
    id: view.hostId,
    name: view.name,
    cell_id: cellId,
    zone: view.zone,
    driver: view.driver,
    is_simulated: view.simulated,
    capabilities: view.capabilities,
    is_up: isHostUp(host, cells),
    down_reason: view.down,
    is_cordoned: view.isDisabled,
    cordon_reason: view.disabledReason,
    fenced_at: view.fencedAt === undefined ? null : new Date(view.fencedAt).toISOString(),
    fence_problem: view.fenceProblem ?? null,
    fence_device: view.fenceDevice ?? null,
    last_seen_at: new Date(view.lastSeenAt).toISOString(),
    total: view.inventory === null ? null : resources(view.inventory),
    reserved: resources(reservedOf(view)),
    used: resources(view.used),
    ratios: resources(view.ratios),
    servers: view.used.instances,
    external_networks: view.inventory?.externalNetworks ?? [],
    routing_problem: view.inventory?.routingProblem ?? null,
  }
}

/** Changes with everything its cell says of the host. */
function hostTag({ view }: HostRecord): string {
  return `"${view.version}"`
}

/** A cell of a nested cloud as the federation API shows it. */
function cellBelowView({ hostsUp, clouds, ...cell }: WireCellsBelow['cells'][number]) {
  return { ...memoryView(cell), hosts_up: hostsUp, clouds: clouds.map(memoryView) }
}

function memoryView<Used extends number | null, Rest extends object>({
  memoryMb,
  memoryMbUsed,
  ...rest
}: Rest & { readonly memoryMb: number | null; readonly memoryMbUsed: Used }) {
  return { ...rest, memory_mb: memoryMb, memory_mb_used: memoryMbUsed }
}

const POWER_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(POWER_STATES).map(([name, number]) => [number, name]),
)

/** An unmanaged guest as the federation API shows it. */
function unmanagedGuestView({ id, name, powerState, vcpus, memoryMb, rootGb }: UnmanagedGuest) {
  return {
    id,
    name,
    power_state: POWER_NAMES.get(powerState) ?? 'nostate',
    vcpus,
    memory_mb: memoryMb,
    disk_gb: rootGb,
  }
}
