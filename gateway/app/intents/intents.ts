import type { WorkContext } from '#common/context.ts'
import type { Executor, Transactional, Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type CellId, type InstanceId, isUuid, newId } from '#common/ids.ts'
import type { IntentAction } from '#common/states/intent-actions.ts'
import { queueActions } from '../../db/server-actions.ts'
import {
  addIntent,
  findIntent,
  listIntents,
  lockIntent,
  removeIntent,
} from '../../db/server-intents.ts'
import { type RequestContext, requesterOf } from '../request-context.ts'
import type { Requester } from '../requester.ts'
import type { ServerRecord } from '../servers/list/server-record.ts'

/** An action that waits for the server's cell. */
export interface Intent {
  readonly id: string
  readonly serverId: InstanceId
  readonly action: IntentAction
  /** Of the server. */
  readonly projectId: string
  /** Who asked. */
  readonly userId: string
  /** Of the request that asked. */
  readonly work: WorkContext
}

/** An intent as it is listed. */
export interface ListedIntent extends Intent {
  /** Grows from one to the next. */
  readonly serial: number
  readonly cellId: CellId | null
  readonly createdAt: Date
}

export interface IntentQuery {
  readonly cellId?: string | undefined
  readonly serverId?: string | undefined
  readonly limit: number
  readonly cursor?: string | undefined
}

export interface IntentPage {
  readonly intents: readonly ListedIntent[]
  /** Where the next page begins; null when this is the last. */
  readonly next: string | null
}

/** Throws `forbidden` for those who may not name cells: they must not learn which cells there are. */
export function assertMayNameCell({ isAdmin }: Pick<Requester, 'isAdmin'>): void {
  if (!isAdmin)
    throw new Failure('forbidden', 'Only administrators may list the intents of a cell.')
}

/** The project's intents, or for an administrator all, as they were asked for. Throws `invalid` for a foreign cursor. */
export async function intentPage(
  db: Executor,
  requester: Requester,
  { cellId, serverId, limit, cursor = '0' }: IntentQuery,
): Promise<IntentPage> {
  if (!/^\d{1,15}$/.test(cursor))
    throw new Failure('invalid', `Invalid cursor '${cursor}': take it from the page before.`)
  const projectId = requester.isAdmin ? undefined : (requester.projectId ?? '')
  const range = { after: Number(cursor), limit: limit + 1 }
  const found = await listIntents(db, { projectId, cellId, serverId, ...range })
  const intents = found.slice(0, limit)
  return { intents, next: found.length > limit ? String(intents.at(-1)?.serial) : null }
}

/**
 * Afterwards the action waits for the server's cell and the server shows it; of two the newer waits, and nothing takes
 * the place of a delete. Throws `conflict` for a server that is being deleted, or went.
 */
export async function acceptIntent(
  db: Transactional,
  context: RequestContext,
  server: ServerRecord,
  action: IntentAction,
): Promise<void> {
  const { requestId, traceparent, via, userId } = context
  const { id: serverId, projectId } = server
  const requester = requesterOf(context, server)
  const work = { requestId, traceparent, via }
  const intent = { id: newId<string>(), serverId, action, projectId, userId, work }
  await db.transaction(async (tx) => {
    let outcome: Awaited<ReturnType<typeof addIntent>>
    do {
      await supersede(tx, serverId)
      await tx.flush()
      outcome = await addIntent(tx, intent)
    } while (outcome === 'taken')
    if (outcome === 'gone') throw new Failure('conflict', `Instance ${serverId} is being deleted.`)
    queueActions(tx, [{ serverId, requestId, action, message: null, ...requester }])
  })
}

async function supersede(tx: Tx, serverId: string): Promise<void> {
  const older = await lockIntent(tx, serverId)
  if (older === undefined) return
  if (older.action === 'delete')
    throw new Failure('conflict', `Instance ${serverId} is being deleted.`)
  await removeIntent(tx, older)
  endIntent(tx, older, 'Superseded by a later request.')
}

/**
 * Afterwards the intent will not be carried out, and the server shows the state its cell last reported. Throws
 * `not-found` for an intent of another project, and for one that a gateway has begun to carry out.
 */
export async function cancelIntent(
  db: Transactional,
  requester: Requester,
  id: string,
): Promise<void> {
  const intent = isUuid(id) ? await findIntent(db, id) : undefined
  const isOwn = intent?.projectId === requester.projectId || requester.isAdmin
  const gone = new Failure(
    'not-found',
    `No intent ${id} waits: it was carried out, superseded or cancelled, or never was.`,
  )
  if (intent === undefined || !isOwn) throw gone
  await db.transaction(async (tx) => {
    if (!(await removeIntent(tx, intent))) throw gone
    endIntent(tx, intent, 'Cancelled.')
  })
}

/** Notes why nothing was done of what was asked, where the server's actions are listed. */
export function endIntent(tx: Tx, intent: Intent, message: string): void {
  const { serverId, action, projectId, userId, work } = intent
  queueActions(tx, [{ serverId, requestId: work.requestId, action, projectId, userId, message }])
}
