import type { HostId } from '#common/ids.ts'
import type { HostRecord } from '../../db/host-list.ts'
import type { IdempotencyKey } from '../../db/idempotency-keys.ts'
import { beginHostDrain, type DrainOptions, type OperationRecord } from '../../db/operations.ts'
import type { Compute } from '../compute.ts'
import { oncePerKey } from '../once-per-key.ts'
import type { RequestContext } from '../request-context.ts'
import { findOperation } from './operations.ts'

/** How a host is to be drained. */
export interface NewDrain extends Omit<DrainOptions, 'deadlineAt'> {
  /** Seconds after which no move begins; null: it goes on until the host is empty. */
  readonly deadlineS: number | null
}

/**
 * Begins to empty a host, or returns the operation that does so already, or did under this key. Its cell need not be
 * reachable. Throws `IdempotencyKeyReused`.
 */
export async function drainHost(
  { db, clock }: Pick<Compute, 'db' | 'clock'>,
  { userId, requestId }: RequestContext,
  { cellId, view }: HostRecord,
  { deadlineS, ...options }: NewDrain,
  key: IdempotencyKey | null,
): Promise<OperationRecord> {
  const { operationId } = await oncePerKey(db, key, async (tx) => {
    const deadlineAt = deadlineS === null ? null : new Date(clock.now() + 1_000 * deadlineS)
    const subject = { subjectId: view.hostId as HostId, subject: view.name, cellId }
    return {
      operationId: await beginHostDrain(tx, {
        ...subject,
        ...options,
        deadlineAt,
        userId,
        requestId,
      }),
    }
  })
  return findOperation(db, operationId)
}
