import type { Executor } from '#common/db/database.ts'
import { whyMoveWaits } from '../../db/drain-moves.ts'
import { findHost } from '../../db/host-list.ts'
import { type Cells, isHostUp } from '../hosts/host-state.ts'
import type { ServerRecord } from '../servers/list/server-record.ts'

/**
 * What keeps the host of a server from serving it, and what becomes of the server meanwhile, in sentences for operators. Null
 * while the host is up, and for a server without one.
 */
export async function hostProblem(
  { db, cells }: { readonly db: Executor; readonly cells: Cells },
  { id, hostId, deletedAt }: Pick<ServerRecord, 'id' | 'hostId' | 'deletedAt'>,
): Promise<string | null> {
  const host = hostId === null || deletedAt !== null ? undefined : await findHost(db, hostId)
  if (host === undefined || isHostUp(host, cells)) return null
  const { name, hostId: itsId, down, fencedAt, fenceProblem, isForcedDown } = host.view
  const known =
    fencedAt === undefined
      ? `Host ${name} ${isForcedDown ? 'was declared down' : 'does not answer'}.`
      : `Host ${name} did not answer, and was fenced at ${new Date(fencedAt).toISOString()}.`
  const waits = await whyMoveWaits(db, itsId, id)
  return [known, down, fenceProblem, waits].filter((part) => part != null).join(' ')
}
