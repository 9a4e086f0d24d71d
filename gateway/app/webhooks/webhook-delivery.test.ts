import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import { newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { acquireLease } from '#common/saga/lease.ts'
import { secretsOf } from '#common/secrets.ts'
import { eventForProject } from '#gateway/views/federation/event.ts'
import { addServer, globalDatabase } from '#test/env/indexed-servers.ts'
import { isSigned, taken, WebhookReceiver } from '#test/env/webhook-receiver.ts'
import { queueEvents } from '../../db/event-inbox.ts'
import { beginEvents, numberEvents } from '../../db/events.ts'
import { WebhookDelivery } from './webhook-delivery.ts'
import type { WebhookRules } from './webhook-url.ts'
import {
  changeWebhook,
  createWebhook,
  deadLetterPage,
  redeliverLetter,
  visibleWebhook,
} from './webhooks.ts'

// Goal: every event of a project reaches its webhook at least once and in order, or is a dead letter.

const RULES: WebhookRules = {
  projectMax: 3,
  networks: ['127.0.0.0/8'],
  retryMs: 3_600_000,
  timeoutMs: 3_000,
}
const AT_ONCE = { ...RULES, retryMs: 0 }
const NEVER_MS = 60_000
const secrets = secretsOf(randomBytes(32).toString('hex'))
const log = createLogger('test', 'silent')
const page = { limit: 100 }

let db: Database
/** A project of its own for each test. */
let owner: { projectId: string; isAdmin: boolean }
let parts: AsyncDisposableStack

beforeAll(async () => {
  db = await globalDatabase('webhooks')
  await beginEvents(db)
})
beforeEach(() => {
  owner = { projectId: newId(), isAdmin: false }
  parts = new AsyncDisposableStack()
})
afterEach(() => parts.disposeAsync())
afterAll(() => db?.[Symbol.asyncDispose]())

function start(processName = 'g1', rules = RULES): WebhookDelivery {
  const shown = eventForProject
  const options = { db, clock: systemClock, secrets, rules, shown, log, processName }
  return parts.use(new WebhookDelivery(options))
}

async function receiver(...args: Parameters<typeof WebhookReceiver.open>) {
  return parts.use(await WebhookReceiver.open(...args))
}

async function webhook(url: string, types: readonly string[] = []) {
  const asked = { name: 'w', url, types }
  const made = await createWebhook({ db, secrets, rules: RULES }, owner, asked, null)
  return { id: made.webhook.id, secret: made.secret! }
}

const server = (projectId = owner.projectId) =>
  addServer(db, null, 1, { owner: { projectId, userId: 'u' } })

function addEvent(serverId: string, action: string): Promise<void> {
  return db.transaction((tx) =>
    queueEvents(tx, [{ type: 'server.action', serverId, details: { action } }]),
  )
}

async function addEvents(serverId: string, ...actions: readonly string[]): Promise<void> {
  for (const action of actions) await addEvent(serverId, action)
  await numberEvents(db, 1_000)
}

/** Numbers events while they are added, and those that are left then. */
async function numberUntil(added: Promise<unknown>): Promise<void> {
  let isAdding = true
  void added.finally(() => {
    isAdding = false
  })
  while (isAdding) {
    await numberEvents(db, 5)
    await systemClock.sleep(20)
  }
  await added
  await numberEvents(db, 1_000)
}

const shownWebhook = (id: string) => visibleWebhook(db, owner, id)
const lettersOf = async (id: string) =>
  (await deadLetterPage(db, await shownWebhook(id), page)).items

test('events of the project are sent in order and signed, others are not', async () => {
  const taker = await receiver()
  const { secret, id } = await webhook(taker.url, ['server.action'])
  const own = await server()
  await db.transaction((tx) =>
    queueEvents(tx, [{ type: 'server.state', serverId: own, details: { state: 'active' } }]),
  )
  await addEvents(await server(newId()), 'foreign')
  await addEvents(own, 'create', 'stop', 'start')

  start()

  await expect.poll(() => taker.actions).toEqual(['create', 'stop', 'start'])
  expect(taker.received.every((each) => isSigned(each, secret))).toBe(true)
  expect(taker.received.some((each) => isSigned(each, `${secret}x`))).toBe(false)
  const [first] = taker.received
  expect(first!.event).toMatchObject({ type: 'server.action', server_id: own, host: null })
  expect(first!.headers).toMatchObject({
    'weir-event': first!.event.id,
    'weir-event-type': 'server.action',
    'weir-webhook': id,
    'content-type': 'application/json',
  })
  await expect
    .poll(() => shownWebhook(id))
    .toMatchObject({ upTo: Number(taker.received.at(-1)!.event.id), failures: 0, lastError: null })
})

test('an event that is not taken is sent again, before those after it', async () => {
  let left = 1
  const taker = await receiver((_, response) => {
    if (left === 0) return taken(response)
    left -= 1
    response.writeHead(503).end()
  })
  const { id } = await webhook(taker.url)
  await addEvents(await server(), 'create', 'stop')

  start()

  await expect
    .poll(() => shownWebhook(id))
    .toMatchObject({ failures: 1, lastError: 'The receiver answered 503.' })
  await expect.poll(() => taker.actions).toEqual(['create', 'create', 'stop'])
  expect(new Set(taker.received.map(({ event }) => event.id)).size).toBe(2)
  await expect.poll(() => shownWebhook(id)).toMatchObject({ failures: 0, failingSince: null })
})

test('an event that is refused for too long becomes a dead letter, which can be sent again', async () => {
  let refuses = true
  const taker = await receiver(({ event }, response) => {
    if (refuses && event.action === 'stop') response.writeHead(400).end()
    else taken(response)
  })
  const { id } = await webhook(taker.url)
  await addEvents(await server(), 'create', 'stop', 'start')

  start('g1', AT_ONCE)

  await expect.poll(() => taker.actions.at(-1)).toBe('start')
  expect(await lettersOf(id)).toMatchObject([
    { error: 'The receiver answered 400.', type: 'server.action', isDue: false },
  ])
  const [letter] = await lettersOf(id)
  expect(JSON.parse(letter!.body)).toMatchObject({ action: 'stop', id: String(letter!.n) })

  const again = taker.received.length
  await redeliverLetter(db, await shownWebhook(id), String(letter!.id))
  await expect.poll(() => taker.received.length).toBe(again + 1)
  await expect.poll(() => lettersOf(id)).toMatchObject([{ isDue: false }])
  refuses = false
  await redeliverLetter(db, await shownWebhook(id), String(letter!.id))
  await expect.poll(() => lettersOf(id)).toEqual([])
  await expect(
    redeliverLetter(db, await shownWebhook(id), String(letter!.id)),
  ).rejects.toMatchObject({ kind: 'not-found' })
})

test('where nothing answers, all events that waited for too long are given up together', async () => {
  const gone = await WebhookReceiver.open()
  await gone[Symbol.asyncDispose]()
  const { id } = await webhook(gone.url)
  await addEvents(await server(), 'create', 'stop', 'start')

  start('g1', AT_ONCE)

  await expect.poll(async () => (await lettersOf(id)).length).toBe(3)
  expect(await shownWebhook(id)).toMatchObject({ failures: 2 })
})

test('a receiver that hangs delays no other, and enabling it again skips what it missed', async () => {
  const hanging = await receiver(() => systemClock.sleep(NEVER_MS))
  const { id } = await webhook(hanging.url)
  const taker = await receiver()
  await webhook(taker.url)
  const own = await server()
  await addEvents(own, 'create')

  const delivery = start()
  await expect.poll(() => hanging.actions).toEqual(['create'])
  await addEvents(own, 'stop')
  delivery.wake()

  await expect.poll(() => taker.actions).toEqual(['create', 'stop'])
  expect(hanging.actions).toEqual(['create'])
  const deps = { db, rules: RULES }
  await changeWebhook(deps, await shownWebhook(id), { isEnabled: false })
  await changeWebhook(deps, await shownWebhook(id), { isEnabled: true, url: taker.url })
  await addEvents(own, 'start')
  await expect.poll(() => taker.actions).toEqual(['create', 'stop', 'start', 'start'])
})

test('what was sent and not recorded before a gateway ended is sent again by the next one, in order', async () => {
  let isHeld = true
  const taker = await receiver((_, response) => (isHeld ? undefined : taken(response)))
  await webhook(taker.url)
  await addEvents(await server(), 'create', 'stop')
  const first = start('g1')
  start('g2')
  await expect.poll(() => taker.actions).toEqual(['create'])

  isHeld = false
  await first[Symbol.asyncDispose]()

  await expect.poll(() => taker.actions).toEqual(['create', 'create', 'stop'])
})

test('a gateway takes over from one that died without a word', async () => {
  const taker = await receiver()
  await webhook(taker.url)
  await acquireLease(db, 'webhooks', 'dead', 2_000)
  await addEvents(await server(), 'create')

  start('g2')

  await expect.poll(() => taker.actions).toEqual(['create'])
})

test('with several gateways that end and begin, every server’s events come in order', async () => {
  const taker = await receiver()
  await webhook(taker.url)
  const servers = await Promise.all([server(), server(), server()])
  const numbers = Array.from({ length: 20 }, (_, n) => String(n).padStart(2, '0'))
  let first = start('g1')
  start('g2')

  // A part of the events for each turn, however fast they are sent.
  const turns = Array.from({ length: 4 }, () => Promise.withResolvers<void>())
  const adding = Promise.all(
    servers.map(async (id) => {
      for (const [at, n] of numbers.entries()) {
        await turns[Math.floor(at / 5)]!.promise
        await addEvent(id, n)
      }
    }),
  )
  const numbering = numberUntil(adding)
  for (const turn of turns) {
    const before = taker.received.length
    turn.resolve()
    await expect.poll(() => taker.received.length).toBeGreaterThan(before)
    await first[Symbol.asyncDispose]()
    first = start('g1')
  }
  await numbering

  const firstSeen = (id: string) => [
    ...new Set(
      taker.received.flatMap(({ event }) => (event.server_id === id ? [event.action] : [])),
    ),
  ]
  for (const id of servers) await expect.poll(() => firstSeen(id)).toEqual(numbers)
})

test.each([
  ['an address that is not public', 'http://127.0.0.1:1/', 'is not public'],
  ['a name of such an address', 'http://localhost:1/', 'is not public'],
])('nothing is sent to %s', async (_, url, why) => {
  const deps = { db, secrets, rules: { ...RULES, networks: ['0.0.0.0/0', '::/0'] } }
  const asked = { name: 'w', url, types: [] }
  const { webhook: made } = await createWebhook(deps, owner, asked, null)
  await addEvents(await server(), 'create')

  start('g1', { ...RULES, networks: [] })

  await expect.poll(async () => (await shownWebhook(made.id)).lastError).toContain(why)
})

test('a redirect is not followed', async () => {
  const inside = await receiver()
  const taker = await receiver((_, response) => {
    response.writeHead(307, { location: inside.url }).end()
  })
  const { id } = await webhook(taker.url)
  await addEvents(await server(), 'create')

  start()

  await expect
    .poll(async () => (await shownWebhook(id)).lastError)
    .toBe('The receiver answered 307; redirects are not followed.')
  expect(inside.received).toEqual([])
})
