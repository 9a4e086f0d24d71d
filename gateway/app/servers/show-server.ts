import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { findServer } from '../../db/find-server.ts'
import type { Requester } from '../requester.ts'
import type { ServerRecord } from './server-record.ts'

/** The server. Throws `not-found` when there is none, it is gone, or it is another project's. */
export async function showServer(
  db: Executor,
  requester: Requester,
  id: string,
): Promise<ServerRecord> {
  // Clients look names up as if they were ids, and expect 404 for them.
  const server = isUuid(id) ? await findServer(db, id) : undefined
  const isOwn = server?.projectId === requester.projectId
  if (server === undefined || server.deletedAt !== null || !(isOwn || requester.isAdmin))
    throw new Failure('not-found', `Instance ${id} could not be found.`)
  return server
}
