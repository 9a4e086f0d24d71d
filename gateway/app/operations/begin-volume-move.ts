import { isFailure } from '#common/errors.ts'
import type { Saga } from '#common/saga/saga.ts'
import { type IdempotencyKey, takeIdempotencyKey } from '../../db/idempotency-keys.ts'
import type { OperationRecord } from '../../db/operations.ts'
import { runningVolumeMove } from '../../db/volume-moves.ts'
import type { Compute, ComputeDeps } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import { findOperation } from './operations.ts'

/** Afterwards the saga moves the volume, and its operation is shown. Throws what the saga's first step throws. */
export async function beginVolumeMove<Params extends { readonly volumeId: string }>(
  { db, sagas, operations }: Compute,
  context: RequestContext,
  { saga, params }: { readonly saga: Saga<ComputeDeps, Params>; readonly params: Params },
  key: IdempotencyKey | null,
): Promise<OperationRecord> {
  const { volumeId } = params
  let operationId = ''
  const run = await sagas.start(saga, {
    subject: volumeId,
    params,
    work: context,
    after: async (tx) => {
      operationId = (await runningVolumeMove(tx, volumeId))?.id ?? ''
      if (key !== null) await takeIdempotencyKey(tx, key, { operationId })
    },
  })
  // Requests that wait for its end need not wait for the next look.
  const notify = () => operations.notify(operationId)
  void run.finished.then(notify, notify)
  return findOperation(db, operationId)
}

/** The operation that `begin` begins or, where the same request came twice at once, the one that the other request began. */
export async function begunOnce(
  begin: () => Promise<OperationRecord>,
  running: () => Promise<OperationRecord | undefined>,
): Promise<OperationRecord> {
  try {
    return await begin()
  } catch (error) {
    if (!isFailure(error, 'conflict')) throw error
    const other = await running()
    if (other === undefined) throw error
    return other
  }
}
