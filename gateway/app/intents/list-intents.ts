import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { listIntents } from '../../db/server-intents.ts'
import type { Requester } from '../requester.ts'
import type { ListedIntent } from './intent.ts'

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

/** Throws `forbidden` for who may not name cells: they shall not learn which there are. */
export function assertMayNameCell({ isAdmin }: Pick<Requester, 'isAdmin'>): void {
  if (!isAdmin) throw new Failure('forbidden', 'Only administrators ask for the intents of a cell.')
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
