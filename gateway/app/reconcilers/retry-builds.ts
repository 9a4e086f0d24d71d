import { workContext } from '#common/context.ts'
import { listNotBuilt, type PendingBuild } from '../../db/pending-mappings.ts'
import type { Compute } from '../compute.ts'
import { operationIds } from '../sagas/build-rounds.ts'
import { retryBuildSaga } from '../sagas/retry-build.ts'
import type { RowReconciler } from './row-reconciler.ts'

const EVERY_MS = 5_000
const BATCH_MAX = 100

/** Servers that their cell gave up before the guest ran are built in the next cell, or shown in ERROR. */
export function retryBuilds(compute: Compute): RowReconciler<PendingBuild> {
  return {
    name: 'retry builds',
    everyMs: EVERY_MS,
    due: () => listNotBuilt(compute.db, BATCH_MAX),
    keyOf: ({ serverId }) => serverId,
    work: ({ serverId, attempt, requestId }) =>
      compute.sagas.start(retryBuildSaga, {
        subject: serverId,
        params: { serverId, attempt, operationIds: operationIds() },
        work: workContext({ requestId: requestId ?? undefined }),
      }),
  }
}
