import { Failure } from '#common/errors.ts'
import type { Requester } from '../../requester.ts'
import type { ServerRecord } from '../list/server-record.ts'

/** Throws `conflict` for a locked server, unless an administrator asks (`os_compute_api:os-lock-server`). */
export function refuseLocked(server: ServerRecord, requester: Requester): void {
  if (server.isLocked && !requester.isAdmin)
    throw new Failure('conflict', `Instance ${server.id} is locked`)
}
