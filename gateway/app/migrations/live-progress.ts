import { isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import type { MoveProgress } from '#openapi/wire/migration.ts'
import type { RecordedMigration } from '../../db/server-migration-list.ts'
import type { Compute } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import { placedServer } from '../servers/boot/placed-server.ts'

const UNKNOWN: MoveProgress = { memory: null, disks: null }
/** A user who watches the progress asks again soon. */
const WAIT_MS = 3_000

/**
 * How far a live migration that is under way has come, as its host says now; nothing is known of one that has not begun, or whose
 * cell or host does not answer, and it is shown all the same.
 */
export async function liveProgress(
  compute: Compute,
  context: RequestContext,
  { serverId, status }: RecordedMigration,
): Promise<MoveProgress> {
  if (status !== 'running') return UNKNOWN
  try {
    const { cell } = await placedServer(compute, context, serverId)
    const how = { work: context, timeoutMs: WAIT_MS }
    return await compute.askCell(cell, 'instance.move-progress', { serverId }, how)
  } catch (error) {
    if (!isFailure(error)) throw error
    compute.log.debug(errorFields(error), 'the progress of a live migration is not known')
    return UNKNOWN
  }
}
