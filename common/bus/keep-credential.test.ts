import { writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NatsConnection } from '@nats-io/transport-node'
import { afterEach, expect, test } from 'vitest'
import { SERVER_SIDE_PERMISSIONS } from '#gateway/bus/accounts.ts'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'
import { signUser } from '#gateway/bus/sign-user.ts'
import { freshBus } from '#test/env/fresh-bus.ts'
import { systemClock } from '../clock.ts'
import { type CellId, newId } from '../ids.ts'
import { createLogger } from '../log.ts'
import { waitFor } from '../wait-for.ts'
import { connectBus } from './connect.ts'
import { endOf, isRenewalDue, readCredential, writeCredential } from './credential.ts'
import { CredentialRenewer, renewWithSeed } from './keep-credential.ts'

// Goal: a credential expires, and connections that use it are not disturbed as long as it is renewed. Real
// nats-server.

const LIFETIME_S = 2
const LIMIT_MS = 20_000

const open: { close(): Promise<void> }[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()))
})

async function fileWith(text: string): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'weir-credential-')), 'program.creds')
  writeFileSync(file, text, { mode: 0o600 })
  return file
}

test('a connection outlives its credential where that is renewed, and ends where it is not', async () => {
  const cellId = newId<CellId>()
  await using bus = await freshBus([cellId])
  const { seed } = bus.account(cellId)
  const { url } = bus
  const short = () => issueCredentials('cell', seed, SERVER_SIDE_PERMISSIONS, LIFETIME_S)
  let logged = ''
  const log = createLogger('test', 'info', { write: (line) => void (logged += line) })
  const kept = await fileWith(await short())
  const left = await fileWith(await short())
  const first = readCredential(kept)
  const renew = renewWithSeed(seed)
  const keeping = await connectBus({ url, credentialsFile: kept, renew, name: 'kept' }, log)
  const leaving = await connectBus({ url, credentialsFile: left, name: 'left' }, log)
  open.push(keeping, leaving)
  keeping.subscribe('question', { callback: (_error, message) => void message.respond('answer') })
  await keeping.flush()
  const asker = await bus.cellCredentialsFile(cellId)
  const asking = await connectBus({ url, credentialsFile: asker, name: 'asking' }, log)
  open.push(asking)

  await waitFor('the other one to be refused', () => logged.includes('it ended at'), LIMIT_MS)

  const ask = () =>
    asking.request('question').then(
      (answer) => answer.string() === 'answer',
      () => false,
    )
  await waitFor('an answer, also while a connection is exchanged', ask, LIMIT_MS)
  const renewed = readCredential(kept)
  expect(renewed.claims.sub).toBe(first.claims.sub)
  expect(endOf(renewed)).toBeGreaterThan(endOf(first) ?? Number.NaN)
  expect(logged.includes('bus credential renewed')).toBe(true)

  const ended = readCredential(left)
  const { sub } = ended.claims
  writeCredential(left, await signUser('left', sub, seed, SERVER_SIDE_PERMISSIONS, 60), ended.seed)
  const isIn = () =>
    leaving.flush().then(
      () => true,
      () => false,
    )
  await waitFor('it to be let in again', isIn, LIMIT_MS)
})

test('a credential is renewed also while the bus hears nothing on the connection', async () => {
  await using bus = await freshBus(['cell'])
  const { seed } = bus.account('cell')
  const file = await fileWith(
    await issueCredentials('cell', seed, SERVER_SIDE_PERMISSIONS, LIFETIME_S),
  )
  let now = systemClock.now()
  const clock = { ...systemClock, now: () => now, elapsed: () => systemClock.elapsed() }
  const log = createLogger('test', 'silent')
  const renewer = new CredentialRenewer({ file, renew: renewWithSeed(seed), clock, log })
  let exchanges = 0
  const silent = {
    isClosed: () => false,
    flush: () => new Promise(() => {}),
    reconnect: async () => void (exchanges += 1),
  }
  renewer.connected(silent as unknown as NatsConnection)
  const signal = AbortSignal.timeout(LIMIT_MS)
  const jwts = new Set<string>()

  for (let round = 0; round < 2; round += 1) {
    now += 1_000 * LIFETIME_S
    await renewer.reconciler().round(signal)
    jwts.add(readCredential(file).jwt)
  }

  expect(jwts.size).toBe(2)
  expect(exchanges).toBe(2)
})

test('a credential is due at half its life, and one without an end at once', async () => {
  await using bus = await freshBus(['cell'])
  const file = await fileWith(
    await issueCredentials('cell', bus.account('cell').seed, SERVER_SIDE_PERMISSIONS, 100),
  )
  const credential = readCredential(file)
  const { claims } = credential
  const { iat = Number.NaN, exp: _, ...endless } = claims

  expect(isRenewalDue(credential, 1_000 * (iat + 49))).toBe(false)
  expect(isRenewalDue(credential, 1_000 * (iat + 50))).toBe(true)
  expect(isRenewalDue({ ...credential, claims: { ...endless, iat } }, 0)).toBe(true)
})

test('an error names a file that is not a credentials file', async () => {
  const file = await fileWith('nonsense')

  expect(() => readCredential(file)).toThrow(`${file} is not a credentials file`)
})
