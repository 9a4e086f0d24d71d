import { workContext } from '#common/context.ts'
import { forEachRow, type Reconciler } from '#common/reconciler.ts'
import { listNotBuilt } from '../../db/pending-mappings.ts'
import type { Compute } from '../compute.ts'
import { operationIds } from '../sagas/build-rounds.ts'
import { retryBuildSaga } from '../sagas/retry-build.ts'

const EVERY_MS = 5_000
const BATCH_MAX = 100

/** Servers that their cell gave up before the guest ran are built in the next cell, or shown in ERROR. */
export function retryBuilds(compute: Compute): Reconciler {
  return {
    name: 'retry builds',
    everyMs: EVERY_MS,
    round: async (signal) => {
      const due = await listNotBuilt(compute.db, BATCH_MAX)
      const { log } = compute
      await forEachRow(due, { log, signal }, ({ serverId, attempt, requestId }) =>
        compute.sagas.start(retryBuildSaga, {
          subject: serverId,
          params: { serverId, attempt, operationIds: operationIds() },
          work: workContext({ requestId: requestId ?? undefined }),
        }),
      )
      return { retried: due.length }
    },
  }
}
