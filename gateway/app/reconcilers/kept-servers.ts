import { workContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { type UnsettledServer, unsettledServers } from '../../db/soft-deleted-servers.ts'
import type { Compute } from '../compute.ts'
import { endKeeping, softDeleteUncharged } from '../quotas/kept-charge.ts'
import { deleteServerSaga } from '../sagas/delete-server.ts'
import type { RowReconciler } from './row-reconciler.ts'

/** The longest time between rounds; a commit that may be work wakes it earlier. */
const EVERY_MS = 10_000
const BATCH = 50
/** Servers that were kept while the operator wanted it are given this long after that ended. */
const LEAST_S = 1

/** Servers deleted softly go for good when their time is up; those that are back count as such. */
export function keptServers(compute: Compute): RowReconciler<UnsettledServer> {
  const { db, reclaimIntervalS } = compute
  return {
    name: 'kept servers',
    everyMs: EVERY_MS,
    due: () => unsettledServers(db, Math.max(reclaimIntervalS, LEAST_S), BATCH),
    keyOf: ({ serverId }) => serverId,
    work: (server) => settle(compute, server),
  }
}

async function settle(
  compute: Compute,
  { serverId, isDeleted, isCharged }: UnsettledServer,
): Promise<void> {
  const { db } = compute
  if (!isDeleted) return db.transaction((tx) => endKeeping(tx, serverId))
  // Its host could not bring it back.
  if (isCharged) return db.transaction((tx) => softDeleteUncharged(tx, serverId))
  const params = { serverId, operationId: newId<string>(), requester: null }
  try {
    await compute.sagas.start(deleteServerSaga, {
      subject: serverId,
      params,
      work: workContext({}),
    })
  } catch (error) {
    if (!isFailure(error, 'not-found')) throw error
  }
}
