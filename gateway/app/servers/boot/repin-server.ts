import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { pinServer } from '../../../db/requested-properties.ts'
import type { ServerRecord } from '../list/server-record.ts'

/**
 * Afterwards the server does not leave its zone by itself any more, or may, with null. Throws `conflict` for a zone
 * it is not in, and for another than the one it is bound to.
 */
export async function repinServer(
  db: Executor,
  server: ServerRecord,
  zone: string | null,
): Promise<void> {
  const from = server.requested.zone
  if (zone === from) return
  if (zone !== null) refuseZone(server, from, zone)
  if (!(await pinServer(db, server.id, { from, to: zone })))
    throw new Failure(
      'conflict',
      `Instance ${server.id} is being changed by others. Please try again.`,
    )
}

function refuseZone(server: ServerRecord, pinned: string | null, asked: string): void {
  if (pinned !== null)
    throw new Failure(
      'conflict',
      'Cannot change pinned availability zone directly. Unpin first by setting pinned_availability_zone to null.',
    )
  const current = server.zone ?? server.requestedZone
  if (asked !== current)
    throw new Failure(
      'conflict',
      `Server can only be pinned to its current availability zone '${current}', but '${asked}' was requested.`,
    )
}
