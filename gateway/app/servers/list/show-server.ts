import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { findServer } from '../../../db/find-server.ts'
import type { Requester } from '../../requester.ts'
import type { FoundServer } from './server-record.ts'

/** The server. Throws `not-found` when there is none, it is gone, or it is another project's. */
export function showServer(db: Executor, requester: Requester, id: string): Promise<FoundServer> {
  return findVisibleServer(db, requester, id, false)
}

/** As `showServer`, but where asked also a server that is gone and still remembered. */
export async function findVisibleServer(
  db: Executor,
  requester: Requester,
  id: string,
  includesDeleted: boolean,
): Promise<FoundServer> {
  // Clients look names up as if they were ids, and expect 404 for them.
  const server = isUuid(id) ? await findServer(db, id) : undefined
  return visibleServer(requester, id, server, includesDeleted)
}

/** The server that was found, if the requester may see it; else throws `not-found`. */
export function visibleServer(
  requester: Requester,
  id: string,
  server: FoundServer | undefined,
  includesDeleted = false,
): FoundServer {
  const isOwn = server?.projectId === requester.projectId
  const isThere = server !== undefined && (includesDeleted || server.deletedAt === null)
  if (!isThere || !(isOwn || requester.isAdmin))
    throw new Failure('not-found', `Instance ${id} could not be found.`)
  return server
}
