import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeCertificate } from '#test/env/certificate.ts'
import { testServices } from '#test/env/services.ts'
import { freePort } from '../process/free-port.ts'
import { checkSettings } from './check-settings.ts'
import { readEnvFile } from './env-file.ts'

const directory = mkdtempSync(join(tmpdir(), 'weir-config-'))
afterAll(() => rmSync(directory, { recursive: true }))

function gateway(changes: Readonly<Record<string, string>> = {}) {
  return {
    GATEWAY_PROCESS: 'one',
    GATEWAY_DATABASE_URL: 'mysql://u:p@127.0.0.1/weir',
    GATEWAY_SECRET_KEY: randomBytes(32).toString('hex'),
    GATEWAY_NATS_URL: 'nats://127.0.0.1:4222',
    GATEWAY_IMAGE_DIRECTORY: join(directory, 'images'),
    ...changes,
  }
}

async function bad(env: Readonly<Record<string, string>>, isOffline = true) {
  const findings = await checkSettings(env, { isOffline })
  return findings.filter(({ is }) => is === 'bad').map(({ what }) => what)
}

test('settings that a gateway accepts have no problem', async () => {
  expect(await bad(gateway())).toEqual([])
})

test.each([
  ['an unknown name', { GATEWAY_PROT: '1' }, /did you mean GATEWAY_PORT/],
  ['a wrong value', { GATEWAY_PORT: 'many' }, /GATEWAY_PORT: many is not an integer/],
  ['a missing setting', { GATEWAY_PROCESS: '' }, /GATEWAY_PROCESS is not set/],
  ['a missing file', { GATEWAY_NATS_CREDENTIALS_FILE: '/no/such.creds' }, /no\/such.creds/],
  ['a database', { GATEWAY_DATABASE_URL: 'weir' }, /GATEWAY_DATABASE_URL: A database is named/],
])('%s is named', async (_what, changes, said) => {
  expect(await bad(gateway(changes))).toEqual([expect.stringMatching(said)])
})

test('every problem is named at once, also those of a cell beside the gateway', async () => {
  const env = { ...gateway({ GATEWAY_PORT: 'many', GATEWAY_REGIN: 'x' }), CELL_NAME: 'north' }
  const problems = await bad(env)

  expect(problems.some((what) => what.startsWith('GATEWAY_REGIN'))).toBe(true)
  expect(problems.some((what) => what.startsWith('GATEWAY_PORT'))).toBe(true)
  expect(problems).toContain('CELL_ID is not set')
})

test('a key of another certificate is named', async () => {
  const [one, other] = ['one', 'other'].map((name) => {
    const folder = mkdtempSync(join(directory, name))
    return makeCertificate(folder)
  })
  const env = gateway({
    GATEWAY_TLS_CERTIFICATE_FILE: one!.certificateFile,
    GATEWAY_TLS_KEY_FILE: other!.keyFile,
  })

  expect(await bad(env)).toEqual([expect.stringContaining('is not the key of')])
})

test('addresses are tried, unless offline: a database with the account, others by a connection', async () => {
  const services = await testServices()
  const closed = `nats://127.0.0.1:${await freePort()}`
  const reached = gateway({
    GATEWAY_DATABASE_URL: services.databaseRootUrl,
    GATEWAY_NATS_URL: services.natsUrl,
  })
  const wrong = gateway({
    GATEWAY_DATABASE_URL: services.databaseRootUrl.replace('root:', 'root:not'),
    GATEWAY_NATS_URL: closed,
  })

  expect(await bad(reached, false)).toEqual([])
  expect(await bad(wrong, true)).toEqual([])
  expect(await bad(wrong, false)).toEqual([
    expect.stringMatching(/^GATEWAY_DATABASE_URL: 127.0.0.1:\d+ does not answer: .*denied/),
    expect.stringContaining(`${closed} does not answer`),
  ])
})

test('one of several servers is enough, and those that do not answer are noted', async () => {
  const { databaseRootUrl: url, natsUrl } = await testServices()
  const closed = `127.0.0.1:${await freePort()}`
  const env = gateway({
    GATEWAY_DATABASE_URL: url.replace('@', `@${closed},`),
    GATEWAY_NATS_URL: natsUrl,
  })

  const findings = await checkSettings(env, { isOffline: false })
  const shown = findings.filter(({ what }) => what.startsWith('GATEWAY_DATABASE_URL'))
  expect(shown.map(({ is }) => is)).toEqual(['note', 'ok'])
})

test('an environment without settings of Weir is refused', async () => {
  await expect(checkSettings({ PATH: '/bin' }, { isOffline: true })).rejects.toThrow('--env-file')
})

test('a file of settings has comments, quotes and values with any character', () => {
  const file = join(directory, 'gateway.env')
  writeFileSync(file, '# comment\n\nA=1#2 = 3\n; other\nB="x y"\n')

  expect(readEnvFile(file)).toEqual({ A: '1#2 = 3', B: 'x y' })
})

test('a line that is no setting is named by its number', () => {
  const file = join(directory, 'wrong.env')
  writeFileSync(file, 'A=1\nexport B=2\n')

  expect(() => readEnvFile(file)).toThrow(`Line 2 of ${file} is not NAME=VALUE`)
})
