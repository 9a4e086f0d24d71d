import { workContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import { type InstanceId, newId } from '#common/ids.ts'
import { listUnownedDeletes, releaseOrphans } from '../../db/pending-mappings.ts'
import type { Compute } from '../compute.ts'
import { deleteServerSaga } from '../sagas/delete-server.ts'
import type { RowReconciler } from './row-reconciler.ts'

const EVERY_MS = 5_000
const BATCH_MAX = 100

/**
 * Repeats the deletes of servers whose cell has not reported them as done; a server whose saga ended without releasing
 * it is released. Unreachable cells are skipped until they are back.
 */
export function finishDeletes(compute: Compute): RowReconciler<InstanceId> {
  return {
    name: 'finish deletes',
    everyMs: EVERY_MS,
    due: async () => {
      await releaseOrphans(compute.db)
      const unreachable = compute.cells.cells().filter(({ isReachable }) => !isReachable)
      return listUnownedDeletes(
        compute.db,
        unreachable.map(({ id }) => id),
        BATCH_MAX,
      )
    },
    keyOf: (serverId) => serverId,
    work: async (serverId) => {
      const params = { serverId, operationId: newId<string>(), requester: null }
      const start = { subject: serverId, params, work: workContext({}) }
      await compute.sagas.start(deleteServerSaga, start).catch((error: unknown) => {
        // Another gateway, or the feed, was quicker.
        if (!isFailure(error, 'not-found')) throw error
      })
    },
  }
}
