import type { WorkContext } from '#common/context.ts'
import type { Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { AskCell } from '../../cells/client.ts'
import { applyHostViews } from '../../db/host-index.ts'
import { type HostRecord, hostsNamed } from '../../db/host-list.ts'
import { hostOf } from './find-hypervisor.ts'
import type { AllCells } from './host-state.ts'
import { COMPUTE_BINARY, listCellServices } from './list-services.ts'
import { reachable } from './reachable.ts'

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

/** The host a client below 2.53 names. Throws `not-found`, and `invalid` where several cells have such a host. */
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

/** The host whose service has this id. Throws `not-found`, and `invalid` for what is no UUID. */
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
