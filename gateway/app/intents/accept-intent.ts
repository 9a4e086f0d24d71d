import type { Transactional, Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { Wish } from '#common/states/wishes.ts'
import { recordActions } from '../../db/server-actions.ts'
import { addIntent, lockIntent, removeIntent } from '../../db/server-intents.ts'
import { type RequestContext, requesterOf } from '../request-context.ts'
import type { ServerRecord } from '../servers/server-record.ts'
import { endIntent } from './end-intent.ts'

/**
 * Afterwards the wish waits for the server's cell and the server shows it; of two the newer waits, and nothing takes
 * the place of a delete. Throws `conflict` for a server that is being deleted, or went.
 */
export async function acceptIntent(
  db: Transactional,
  context: RequestContext,
  server: ServerRecord,
  wish: Wish,
): Promise<void> {
  const { requestId, traceparent, via, userId } = context
  const { id: serverId, projectId } = server
  const requester = requesterOf(context, server)
  const work = { requestId, traceparent, via }
  const intent = { id: newId<string>(), serverId, wish, projectId, userId, work }
  await db.transaction(async (tx) => {
    await supersede(tx, serverId)
    if (!(await addIntent(tx, intent)))
      throw new Failure('conflict', `Instance ${serverId} is being deleted.`)
    recordActions(tx, [{ serverId, requestId, action: wish, message: null, ...requester }])
  })
}

async function supersede(tx: Tx, serverId: string): Promise<void> {
  const older = await lockIntent(tx, serverId)
  if (older === undefined) return
  if (older.wish === 'delete')
    throw new Failure('conflict', `Instance ${serverId} is being deleted.`)
  await removeIntent(tx, older)
  endIntent(tx, older, 'Superseded by a later request.')
}
