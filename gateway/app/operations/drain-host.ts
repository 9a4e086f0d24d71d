import type { Transactional } from '#common/db/database.ts'
import type { HostId } from '#common/ids.ts'
import type { HostRecord } from '../../db/host-list.ts'
import { beginHostDrain, type OperationRecord } from '../../db/operations.ts'
import type { RequestContext } from '../request-context.ts'
import { findOperation } from './operations.ts'

/** Begins to empty a host, or tells of the operation that does so already. Its cell need not be reachable. */
export async function drainHost(
  db: Transactional,
  { userId, requestId }: RequestContext,
  { cellId, view }: HostRecord,
  reason: string | null,
): Promise<OperationRecord> {
  const id = await db.transaction((tx) => {
    const subject = { subjectId: view.hostId as HostId, subject: view.name, cellId }
    return beginHostDrain(tx, { ...subject, reason, userId, requestId })
  })
  return findOperation(db, id)
}
