import type { Clock } from '#common/clock.ts'
import type { Transactional, Tx } from '#common/db/database.ts'
import { changeServer, type ServerChange } from '../../../db/change-server.ts'
import { queueActionEvents, queueActions } from '../../../db/server-actions.ts'
import { enforce } from '../../policy.ts'
import { type RequestContext, requesterOf } from '../../request-context.ts'
import { editServer } from '../edit/update-server.ts'
import type { ServerRecord } from '../list/server-record.ts'

interface LockDeps {
  readonly db: Transactional
  readonly clock: Clock
}

const NOT_LOCKED: ServerChange = { isLocked: false, lockedBy: null, lockedReason: null }

/**
 * Afterwards the server is locked, by its owner or by an administrator. To one that is locked the owner changes
 * nothing (nova/compute/api.py `lock`). Throws `not-found`.
 */
export async function lockServer(
  deps: LockDeps,
  context: RequestContext,
  id: string,
  reason: string | null,
): Promise<void> {
  const decide = (server: ServerRecord): ServerChange | undefined => {
    const lockedBy = lockerOf(server, context)
    if (server.isLocked && lockedBy === 'owner') return undefined
    return { isLocked: true, lockedBy, lockedReason: reason }
  }
  await editServer(deps, context, id, decide, written(deps, context, 'lock'))
}

/**
 * Afterwards the server is not locked. A lock of the other side, administrators and owner, is opened only for callers
 * whom the override's rule allows. Throws `not-found`, `forbidden`.
 */
export async function unlockServer(
  deps: LockDeps,
  context: RequestContext,
  id: string,
): Promise<void> {
  const decide = (server: ServerRecord): ServerChange => {
    if (server.lockedBy !== null && server.lockedBy !== lockerOf(server, context))
      enforce(context, 'os_compute_api:os-lock-server:unlock:unlock_override')
    return NOT_LOCKED
  }
  await editServer(deps, context, id, decide, written(deps, context, 'unlock'))
}

function lockerOf({ projectId }: ServerRecord, context: RequestContext): 'owner' | 'admin' {
  return projectId === context.projectId ? 'owner' : 'admin'
}

/** Writes the change together with its record. */
function written({ db, clock }: LockDeps, context: RequestContext, action: 'lock' | 'unlock') {
  return (server: ServerRecord, change: ServerChange): Promise<boolean> =>
    db.transaction(async (tx) => {
      const isWritten = await changeServer(tx, server, change)
      if (isWritten) record(tx, context, server, { action, at: clock.now() })
      return isWritten
    })
}

function record(
  tx: Tx,
  context: RequestContext,
  server: ServerRecord,
  { action, at }: { readonly action: 'lock' | 'unlock'; readonly at: number },
): void {
  const { requestId } = context
  const serverId = server.id
  const times = { startedAt: at, finishedAt: at }
  const event = { serverId, requestId, event: `api_${action}`, host: null, details: null }
  queueActions(tx, [
    { serverId, requestId, action, message: null, ...requesterOf(context, server) },
  ])
  queueActionEvents(tx, null, [{ ...event, ...times, result: 'Success' }])
}
