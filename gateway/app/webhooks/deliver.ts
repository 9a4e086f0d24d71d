import type { Clock } from '#common/clock.ts'
import type { Transactional } from '#common/db/database.ts'
import type { Secrets } from '#common/secrets.ts'
import type { EventType } from '../../db/event-inbox.ts'
import { eventsAfter, type KeptEvent, readEventState } from '../../db/events.ts'
import {
  boundDeadLetters,
  type DueLetter,
  insertDeadLetters,
  keepDeadLetter,
  removeDeadLetter,
} from '../../db/webhook-dead-letters.ts'
import {
  advance,
  type DueWebhook,
  giveUp,
  passOver,
  postpone,
} from '../../db/webhook-deliveries.ts'
import { type Message, Receiver, type Refusal } from './receiver.ts'
import type { WebhookRules } from './webhook-url.ts'
import { secretPurpose } from './webhooks.ts'

/** What events are sent with. */
export interface DeliveryDeps {
  readonly db: Transactional
  readonly clock: Clock
  readonly secrets: Secrets
  readonly rules: WebhookRules
  /** An event as its project sees it, which is sent as JSON. */
  readonly shown: (event: KeptEvent) => unknown
}

/** While it returns true this process may deliver. */
export interface Permit {
  readonly signal: AbortSignal
  mayGoOn(): Promise<boolean>
}

const PAGE = 100
const PAUSE_FIRST_MS = 1_000
const PAUSE_MAX_MS = 300_000
/** Kept of one webhook. */
const DEAD_LETTERS_MAX = 1_000

/** How long a webhook rests after so many failed attempts in a row. */
export function pauseAfter(failures: number): number {
  return Math.min(PAUSE_FIRST_MS * 2 ** (failures - 1), PAUSE_MAX_MS)
}

/**
 * Sends a page of its events to a webhook, one after another, until one is not taken. Every event is recorded as taken
 * after it was, so an event may be sent again, and none is left out.
 */
export async function deliver(deps: DeliveryDeps, due: DueWebhook, permit: Permit): Promise<void> {
  const { db } = deps
  // Read first: events that get a number meanwhile are for the next time.
  const { last } = await readEventState(db)
  const types = due.types.length === 0 ? undefined : (due.types as readonly EventType[])
  const page = await eventsAfter(db, due.upTo, { projectId: due.projectId, types }, PAGE)
  if (page.length === 0) {
    await passOver(db, due, Math.max(last, due.upTo))
    return
  }
  await using receiver = receiverOf(deps, due.id, due, permit.signal)
  let webhook = due
  for (const [at, event] of page.entries()) {
    if (!(await permit.mayGoOn())) return
    const refusal = await receiver.send(messageOf(deps, due.id, event))
    if (permit.signal.aborted) return
    if (refusal !== undefined) return refused(deps, webhook, page.slice(at), refusal)
    if (!(await advance(db, webhook, event.n))) return
    webhook = { ...webhook, upTo: event.n, failures: 0, failingSince: null }
  }
}

/**
 * Sends a dead letter again, once: afterwards it is gone, or has the new reason. Events that came after it have been
 * sent before.
 */
export async function redeliver(
  deps: DeliveryDeps,
  letter: DueLetter,
  permit: Permit,
): Promise<void> {
  const { id, webhookId, n, type, body } = letter
  await using receiver = receiverOf(deps, webhookId, letter, permit.signal)
  if (!(await permit.mayGoOn())) return
  const refusal = await receiver.send({ webhookId, eventId: String(n), type, body })
  if (permit.signal.aborted) return
  if (refusal === undefined) await removeDeadLetter(deps.db, id)
  else await keepDeadLetter(deps.db, id, refusal.why)
}

function receiverOf(
  { rules, clock, secrets }: DeliveryDeps,
  id: string,
  due: Pick<DueWebhook, 'url' | 'sealedSecret' | 'formerSealedSecret'>,
  signal: AbortSignal,
): Receiver {
  const { url, sealedSecret, formerSealedSecret } = due
  const signing = [sealedSecret, formerSealedSecret].filter((sealed) => sealed !== null)
  const opened = signing.map((sealed) => secrets.open(sealed, secretPurpose(id)))
  return new Receiver({ url, secrets: opened, rules, clock, signal })
}

function messageOf({ shown }: DeliveryDeps, webhookId: string, event: KeptEvent): Message {
  const { n, type } = event
  return { webhookId, eventId: String(n), type, body: JSON.stringify(shown(event)) }
}

/**
 * Events wait until they were tried for long enough, the first of them as all. Where no server answers, all that have
 * waited for so long are given up at once: trying each would take longer than new ones take to come.
 */
async function refused(
  deps: DeliveryDeps,
  webhook: DueWebhook,
  waiting: readonly KeptEvent[],
  { why, isAnswered }: Refusal,
): Promise<void> {
  const { db } = deps
  const { failingSince, givenUpBefore, failures } = webhook
  const isLong = failingSince !== null && failingSince <= givenUpBefore
  const newer = waiting.findIndex(({ at }) => at > givenUpBefore)
  const old = isLong ? waiting.slice(0, newer === -1 ? waiting.length : newer) : []
  const given = isAnswered ? old.slice(0, 1) : old
  const last = given.at(-1)
  if (last === undefined) {
    await postpone(db, webhook, why, pauseAfter(failures + 1))
    return
  }
  const letters = given.map((event) => {
    const { type, body } = messageOf(deps, webhook.id, event)
    return { webhookId: webhook.id, n: event.n, type, body, error: why }
  })
  await db.transaction(async (tx) => {
    if (!(await giveUp(tx, webhook, last.n, why))) return
    await insertDeadLetters(tx, letters)
    await boundDeadLetters(tx, webhook.id, DEAD_LETTERS_MAX)
  })
}
