import { randomBytes } from 'node:crypto'
import type { Executor, Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid, newId } from '#common/ids.ts'
import type { Secrets } from '#common/secrets.ts'
import { readEventState } from '../../db/events.ts'
import type { IdempotencyKey } from '../../db/idempotency-keys.ts'
import {
  type DeadLetter,
  listDeadLetters,
  requestRedelivery,
} from '../../db/webhook-dead-letters.ts'
import {
  findWebhook,
  insertWebhook,
  listWebhooks,
  deleteWebhook as remove,
  replaceSecret,
  updateWebhook as update,
  type Webhook,
  type WebhookChange,
} from '../../db/webhooks.ts'
import { oncePerKey } from '../once-per-key.ts'
import type { Requester } from '../requester.ts'
import { checkWebhookUrl, type WebhookRules } from './webhook-url.ts'

export interface WebhookDeps {
  readonly db: Transactional
  readonly secrets: Secrets
  readonly rules: WebhookRules
}

export interface WebhookRequest {
  /** Absent: the requester's own. */
  readonly projectId?: string | undefined
  readonly name: string
  readonly url: string
  readonly types: readonly string[]
}

export interface CreatedWebhook {
  readonly webhook: Webhook
  /** Null where the request is a repeat: only the first answer has it. */
  readonly secret: string | null
}

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Where the next page begins; null when this is the last. */
  readonly next: string | null
}

const SECRET_BYTES = 32
/** A day, in which those who run a receiver give it the new secret. */
const SECRET_OVERLAP_S = 86_400

/** What the secret of a webhook is sealed for. */
export function secretPurpose(id: string): string {
  return `webhook ${id}`
}

/**
 * Afterwards events from now on are sent there. Throws `invalid` for a URL that the rules refuse and for a token without a
 * project, `forbidden` for another project, `over-quota` for a project that has as many as it may.
 */
export async function createWebhook(
  { db, secrets, rules }: WebhookDeps,
  requester: Requester,
  { projectId: asked, name, url, types }: WebhookRequest,
  key: IdempotencyKey | null,
): Promise<CreatedWebhook> {
  const projectId = projectFor(requester, asked)
  checkWebhookUrl(url, rules)
  const id = newId<string>()
  const secret = newSecret()
  const sealedSecret = secrets.seal(secret, secretPurpose(id))
  const made = await oncePerKey(db, key, async (tx) => {
    const { last: upTo } = await readEventState(tx)
    const fresh = { id, projectId, name, url, types, sealedSecret, isEnabled: true, upTo }
    if (!(await insertWebhook(tx, fresh, rules.projectMax)))
      throw new Failure(
        'over-quota',
        `The project has ${rules.projectMax} webhooks, which is the most it may have: delete one first.`,
      )
    return { webhookId: id }
  })
  const webhook = await visibleWebhook(db, requester, made.webhookId)
  return { webhook, secret: made.isRepeat ? null : secret }
}

/** A webhook of the requester's project, or for an administrator of any. Throws `not-found`. */
export async function visibleWebhook(
  db: Executor,
  { isAdmin, projectId }: Requester,
  id: string,
): Promise<Webhook> {
  const found = isUuid(id) ? await findWebhook(db, id) : undefined
  if (found === undefined || !(isAdmin || found.projectId === projectId)) throw noSuchWebhook(id)
  return found
}

/** Those of the requester's project, or for an administrator of all projects. Throws `invalid` for a foreign cursor. */
export async function webhookPage(
  db: Executor,
  { isAdmin, projectId }: Requester,
  { cursor = '', limit }: { readonly cursor?: string | undefined; readonly limit: number },
): Promise<Page<Webhook>> {
  if (cursor !== '' && !isUuid(cursor)) throw foreignCursor(cursor)
  const range = { projectId: isAdmin ? undefined : (projectId ?? ''), after: cursor }
  return pageOf(await listWebhooks(db, { ...range, limit: limit + 1 }), limit)
}

/**
 * Afterwards the webhook is so, and its next attempt is due. One that is enabled again gets the events from now on.
 * Throws `invalid` for a URL that the rules refuse, `not-found`.
 */
export async function changeWebhook(
  { db, rules }: Omit<WebhookDeps, 'secrets'>,
  webhook: Webhook,
  change: Omit<WebhookChange, 'upTo'>,
): Promise<void> {
  if (change.url !== undefined) checkWebhookUrl(change.url, rules)
  const isResumed = change.isEnabled === true && !webhook.isEnabled
  const from = isResumed ? { upTo: (await readEventState(db)).last } : {}
  if (!(await update(db, webhook.id, { ...change, ...from }))) throw noSuchWebhook(webhook.id)
}

/**
 * Afterwards its events are signed with the secret that this returns, and for `overlapS` seconds also with the one before.
 * Throws `not-found`.
 */
export async function replaceWebhookSecret(
  { db, secrets }: Omit<WebhookDeps, 'rules'>,
  { id }: Webhook,
  overlapS = SECRET_OVERLAP_S,
): Promise<string> {
  const secret = newSecret()
  const sealed = secrets.seal(secret, secretPurpose(id))
  if (!(await replaceSecret(db, id, sealed, overlapS))) throw noSuchWebhook(id)
  return secret
}

/** Afterwards nothing is sent there, and its dead letters are gone. Throws `not-found`. */
export async function deleteWebhook(db: Transactional, { id }: Webhook): Promise<void> {
  if (!(await remove(db, id))) throw noSuchWebhook(id)
}

/** The events that a webhook did not take in time, the oldest first. Throws `invalid` for a foreign cursor. */
export async function deadLetterPage(
  db: Executor,
  { id }: Webhook,
  { cursor = '0', limit }: { readonly cursor?: string | undefined; readonly limit: number },
): Promise<Page<DeadLetter>> {
  if (!/^\d{1,15}$/.test(cursor)) throw foreignCursor(cursor)
  return pageOf(await listDeadLetters(db, id, Number(cursor), limit + 1), limit)
}

/** Afterwards the event is sent again soon, once. Throws `not-found`. */
export async function redeliverLetter(
  db: Executor,
  { id }: Webhook,
  letter: string,
): Promise<void> {
  const isNumber = /^\d{1,15}$/.test(letter)
  if (isNumber && (await requestRedelivery(db, id, Number(letter)))) return
  throw new Failure(
    'not-found',
    `Webhook ${id} has no dead letter ${letter}: it was delivered, has expired, or never was.`,
  )
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

function projectFor({ isAdmin, projectId }: Requester, asked: string | undefined): string {
  const wanted = asked ?? projectId
  if (wanted === null)
    throw new Failure('invalid', 'The token is for no project. Name one in project_id.')
  if (!isAdmin && wanted !== projectId)
    throw new Failure('forbidden', 'Only administrators make webhooks for other projects.')
  return wanted
}

function pageOf<Item extends { readonly id: string | number }>(
  found: readonly Item[],
  limit: number,
): Page<Item> {
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? String(items.at(-1)?.id) : null }
}

function foreignCursor(cursor: string): Failure {
  return new Failure('invalid', `Invalid cursor '${cursor}': take it from the page before.`)
}

function noSuchWebhook(id: string): Failure {
  return new Failure('not-found', `There is no webhook ${id}.`)
}
