import { hash } from 'node:crypto'
import type { WorkContext } from '#common/context.ts'
import type { Executor, Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { Cell } from '../../cell-client/cell.ts'
import type { AskCell } from '../../cell-client/client.ts'
import { deleteHostMemberships } from '../../db/aggregates.ts'
import { applyHostViews } from '../../db/host-index.ts'
import { type HostRecord, hostsNamed, listHosts } from '../../db/host-list.ts'
import { deleteProviderSettings } from '../../db/provider-settings.ts'
import type { AllCells } from './host-state.ts'
import { reachable } from './host-state.ts'
import { type HostIds, hostOf } from './hypervisors.ts'

/** The one service that hosts have, by the name clients know. */
export const COMPUTE_BINARY = 'nova-compute'

export interface ServiceQuery {
  readonly host?: string
  readonly binary?: string
}

/** Each host has one service. */
export async function listServices(
  db: Executor,
  { host, binary }: ServiceQuery,
): Promise<readonly HostRecord[]> {
  if (binary !== undefined && binary !== COMPUTE_BINARY) return []
  const hosts = await listHosts(db)
  return host === undefined ? hosts : hosts.filter(({ view }) => view.name === host)
}

const CELL_BINARIES = ['nova-conductor', 'nova-scheduler'] as const
/** Numbers from here on are no host's. */
const NUMBERS_FROM = 2 ** 30
const NUMBER_DIGITS = 7

/** The services that place servers in a cell and carry out actions on them: one each, by the name of the cell. */
export interface CellService {
  readonly cell: Cell
  readonly binary: (typeof CELL_BINARIES)[number]
  /** For clients below microversion 2.53; the other for those from it on. */
  readonly number: number
  readonly uuid: string
}

/** Those that fit, by the names of their cells. A cell that was given up has none. */
export function listCellServices(
  cells: readonly Cell[],
  { host, binary }: ServiceQuery,
): readonly CellService[] {
  return cells
    .filter((cell) => !cell.isLost && (host === undefined || host === cell.name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((cell) => CELL_BINARIES.map((each) => cellService(cell, each)))
    .filter((service) => binary === undefined || binary === service.binary)
}

/** The ids are made of what the service is, so that every gateway tells the same and none is kept. */
function cellService(cell: Cell, binary: CellService['binary']): CellService {
  const digest = hash('sha256', `${binary} of ${cell.id}`)
  const uuid = digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5')
  const number = NUMBERS_FROM + Number.parseInt(digest.slice(0, NUMBER_DIGITS), 16)
  return { cell, binary, number, uuid }
}

/** A client's change of a service, in the form of microversion 2.53. */
export interface ServiceUpdate {
  readonly status?: 'enabled' | 'disabled'
  readonly disabled_reason?: string
  readonly forced_down?: boolean
}

/** The change asked for; throws `invalid` for none, and for a reason without a disabling (nova `_perform_action`). */
export function serviceChange(update: ServiceUpdate): ServiceChange {
  const { status, disabled_reason: reason, forced_down: isForcedDown } = update
  if (status === undefined && isForcedDown === undefined)
    throw new Failure(
      'invalid',
      "No updates were requested. Fields 'status' or 'forced_down' should be specified.",
    )
  if (status !== 'disabled' && reason !== undefined)
    throw new Failure('invalid', "'disabled_reason' can be given only when status is 'disabled'.")
  return {
    ...(status === 'enabled' && { isDisabled: false, disabledReason: null }),
    ...(status === 'disabled' && { isDisabled: true, disabledReason: reason ?? null }),
    ...(isForcedDown !== undefined && { isForcedDown }),
  }
}

export interface ServiceDeps {
  readonly db: Transactional
  readonly cells: AllCells
  readonly askCell: AskCell
}

/** What to change; the rest stays. Enabling forgets the reason. */
export interface ServiceChange {
  readonly isDisabled?: boolean
  readonly disabledReason?: string | null
  readonly isForcedDown?: boolean
}

/** The host that a client below 2.53 names. Throws `not-found`, and `invalid` if several cells have such a host. */
export async function serviceOnHost(
  deps: Pick<ServiceDeps, 'db'>,
  name: string,
  binary: string,
): Promise<HostRecord> {
  const [host, another] = binary === COMPUTE_BINARY ? await hostsNamed(deps.db, name) : []
  if (host === undefined)
    throw new Failure('not-found', `Could not find binary ${binary} on host ${name}.`)
  if (another !== undefined)
    throw new Failure(
      'invalid',
      `Several cells have a host ${name}: name its service by id, from microversion 2.53 on.`,
    )
  return host
}

/** The host whose service has this id. Throws `not-found`, and `invalid` for text that is not a UUID. */
export async function serviceById(
  deps: Pick<ServiceDeps, 'db' | 'cells'>,
  id: string,
): Promise<HostRecord> {
  const host = await hostOf(deps.db, id, 'uuid')
  if (host === undefined) throw serviceNotFound(deps, id)
  return host
}

/** Of a cell's own services nothing can be changed: `invalid`. */
export function serviceNotFound({ cells }: Pick<ServiceDeps, 'cells'>, id: string): Failure {
  const own = listCellServices(cells.cells(), {}).find(
    ({ uuid, number }) => id === uuid || id === String(number),
  )
  return own === undefined
    ? new Failure('not-found', `Service ${id} not found.`)
    : new Failure(
        'invalid',
        `Updating a ${own.binary} service is not supported. Only ${COMPUTE_BINARY} services can be updated; to give cell ${own.cell.name} no more servers, disable the cell.`,
      )
}

/**
 * Afterwards the cell has changed the service and every gateway shows it. Throws `unavailable` while the cell cannot
 * be asked.
 */
export async function setService(
  { db, cells, askCell }: ServiceDeps,
  work: WorkContext,
  host: HostRecord,
  change: ServiceChange,
): Promise<HostRecord> {
  const cell = reachable(cells.cell(host.cellId))
  const { hostId } = host.view
  const view = await askCell(cell, 'host.set-service', { hostId, ...change }, { work })
  await db.transaction((tx) => applyHostViews(tx, host.cellId, [view]))
  return { ...host, view }
}

/**
 * Afterwards the service's host is not there, nor in any aggregate, nor given traits, until its compute starts again. Throws `not-found`;
 * `invalid` for an id of the wrong kind; `conflict` while servers are on the host; `unavailable` while the cell cannot be asked.
 */
export async function deleteService(
  { db, cells, askCell }: ServiceDeps,
  work: WorkContext,
  service: { readonly id: string; readonly ids: HostIds },
): Promise<void> {
  // Alone of all that name a host or service by its number, Nova looks here whether it is one.
  if (service.ids === 'number' && !/^-?\d+$/.test(service.id))
    throw new Failure(
      'invalid',
      `Invalid input received: id must be an integer, not ${service.id}.`,
    )
  const host = await hostOf(db, service.id, service.ids)
  if (host === undefined) throw serviceNotFound({ cells }, service.id)
  const cell = reachable(cells.cell(host.cellId))
  const { hostId } = host.view
  const view = await askCell(cell, 'host.forget', { hostId }, { work })
  await db.transaction(async (tx) => {
    await deleteHostMemberships(tx, hostId)
    await deleteProviderSettings(tx, hostId)
    await applyHostViews(tx, host.cellId, [view])
  })
}
