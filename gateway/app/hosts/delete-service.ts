import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type HostIds, hostOf } from './find-hypervisor.ts'
import { serviceNotFound } from './set-service.ts'

/**
 * Throws `not-found`, or `conflict`: whoever asks the gateway to forget a host would see it again with the next
 * report, because hosts belong to their cells.
 */
export async function deleteService(db: Executor, id: string, ids: HostIds): Promise<never> {
  const host = await hostOf(db, id, ids)
  if (host === undefined) throw serviceNotFound(id)
  throw new Failure(
    'conflict',
    `Service ${id} cannot be deleted here: its cell knows host ${host.view.name}. Remove the host from its cell.`,
  )
}
