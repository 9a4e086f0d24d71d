import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Clock, systemClock } from '#common/clock.ts'
import { Database } from '#common/db/database.ts'
import { createLogger } from '#common/log.ts'
import { waitFor } from '#common/wait-for.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { Relay } from '#test/env/relay.ts'
import { type AuditRecord, listAuditRecords } from '../../db/audit-records.ts'
import { AuditTrail } from './audit-trail.ts'

const WAIT_MS = 30_000
const log = createLogger('audit', 'silent')
const { signal } = new AbortController()

let relay: Relay
let db: Database
/** Reaches the database also while the relay is cut. */
let direct: Database

beforeAll(async () => {
  const url = await migratedDatabase('audit_trail', 'gateway')
  relay = await Relay.open(url)
  db = new Database({ url: relay.url, connectionsMax: 2 })
  direct = new Database({ url, connectionsMax: 2 })
})
afterAll(async () => {
  await db?.[Symbol.asyncDispose]()
  await direct?.[Symbol.asyncDispose]()
  await relay?.[Symbol.asyncDispose]()
})

const entry = (target: string): AuditRecord => ({
  at: new Date(),
  userId: 'u',
  userName: 'user',
  projectId: null,
  action: 'compute:lockServer',
  target,
  status: 202,
  requestId: 'r',
})

const newDirectory = () => mkdtempSync(join(tmpdir(), 'weir-audit-'))
const open = (directory = newDirectory(), on = db, clock: Clock = systemClock) => {
  return { directory, trail: new AuditTrail({ db: on, clock, log, directory }) }
}
const targets = async () => {
  const records = await listAuditRecords(direct, {}, Number.MAX_SAFE_INTEGER, 100)
  return records.map(({ target }) => target).toReversed()
}

test('requests that wait for their audit record share one commit with all records gathered so far', async () => {
  const { directory, trail } = open()

  await trail.record(entry('a'), false)
  await trail.record(entry('b'), false)
  expect(await targets()).toEqual([])
  await trail.record(entry('c'), true)

  expect(await targets()).toEqual(['a', 'b', 'c'])
  await waitFor('its file to be gone', () => readdirSync(directory).length === 0, WAIT_MS)
})

test('gathered records are written when the gateway ends', async () => {
  const { trail } = open()
  await trail.record(entry('gathered'), false)

  await trail[Symbol.asyncDispose]()

  expect(await targets()).toContain('gathered')
})

test('records that the database does not take are kept, and written later, once', async () => {
  const { directory, trail } = open()
  relay.set('refuse')
  await trail.record(entry('away'), false)
  await trail.record(entry('away, urgent'), true)
  expect(readdirSync(directory)).toHaveLength(1)
  await expect(trail.reconciler().round(signal)).rejects.toMatchObject({ kind: 'unavailable' })
  relay.set('pass')

  await Promise.all([trail.reconciler().round(signal), trail.reconciler().round(signal)])

  expect((await targets()).filter((target) => target.startsWith('away'))).toEqual([
    'away',
    'away, urgent',
  ])
  expect(readdirSync(directory)).toEqual([])
})

test('records that a killed gateway had gathered are written by another', async () => {
  const directory = newDirectory()
  const killed = join(directory, 'killed.audit')
  const line = JSON.stringify({ ...entry('killed'), recordId: crypto.randomUUID() })
  writeFileSync(killed, `${line}\n${line.slice(0, 20)}`)
  let elapsed = 0
  const { trail } = open(directory, db, { ...systemClock, elapsed: () => elapsed })

  expect(await trail.reconciler().round(signal)).toEqual({ files: 0 })
  elapsed = 61_000
  expect(await trail.reconciler().round(signal)).toEqual({ files: 1 })

  expect(await targets()).toContain('killed')
  expect(readdirSync(directory)).toEqual([])
})

test('a record is on disk before its request is answered', async () => {
  const { directory, trail } = open()

  await trail.record(entry('on disk'), false)

  const [name] = readdirSync(directory)
  expect(await readFile(join(directory, name!), 'utf8')).toContain('"target":"on disk"')
  await trail[Symbol.asyncDispose]()
})

test('a record that neither disk nor database takes fails its request', async () => {
  const { trail } = open('/dev/null/nowhere')
  await trail.record(entry('database only'), false)
  expect(await targets()).toContain('database only')
  relay.set('refuse')

  await expect(trail.record(entry('lost'), false)).rejects.toMatchObject({ kind: 'unavailable' })
  relay.set('pass')
})
