import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import { deleteHostMemberships } from '../../db/aggregates.ts'
import { applyHostViews } from '../../db/host-index.ts'
import { type HostIds, hostOf } from './find-hypervisor.ts'
import { reachable } from './reachable.ts'
import { type ServiceDeps, serviceNotFound } from './set-service.ts'

/**
 * Afterwards the service's host is not there, nor in any aggregate, until its compute starts anew. Throws `not-found`;
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
    await applyHostViews(tx, host.cellId, [view])
  })
}
