import type { Transactional } from '#common/db/database.ts'
import type { HostId } from '#common/ids.ts'
import type { HostRecord } from '../../db/host-list.ts'
import type { IdempotencyKey } from '../../db/idempotency-keys.ts'
import { beginHostDrain, type DrainOptions, type OperationRecord } from '../../db/operations.ts'
import { oncePerKey } from '../once-per-key.ts'
import type { RequestContext } from '../request-context.ts'
import { findOperation } from './operations.ts'

/**
 * Begins to empty a host, or returns the operation that does so already, or did under this key. Its cell need not be
 * reachable. Throws `IdempotencyKeyReused`.
 */
export async function drainHost(
  db: Transactional,
  { userId, requestId }: RequestContext,
  { cellId, view }: HostRecord,
  options: DrainOptions,
  key: IdempotencyKey | null,
): Promise<OperationRecord> {
  const { operationId } = await oncePerKey(db, key, async (tx) => {
    const subject = { subjectId: view.hostId as HostId, subject: view.name, cellId }
    return {
      operationId: await beginHostDrain(tx, {
        ...subject,
        ...options,

        userId,
        requestId,
      }),
    }
  })
  return findOperation(db, operationId)
}
