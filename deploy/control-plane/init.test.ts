import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { testServices } from '#test/env/services.ts'
import { checkSettings } from '../config/check-settings.ts'
import { readEnvFile } from '../config/env-file.ts'
import { type Admission, admitMachine } from './admit.ts'
import type { Folders } from './control-plane.ts'
import { type InitOptions, initControlPlane } from './init.ts'
import { joinControlPlane } from './join.ts'
import { SHARED_FILES } from './shared-files.ts'

const MACHINES = ['127.0.0.1', '127.0.0.2', '127.0.0.3']
const HOUR_MS = 3_600_000
const home = mkdtempSync(join(tmpdir(), 'weir-init-'))
afterAll(() => rmSync(home, { recursive: true }))

function foldersIn(name: string): Folders {
  return { directory: join(home, name, 'etc'), state: join(home, name, 'state') }
}

async function init(folders: Folders, options: Partial<InitOptions> = {}) {
  const lines: string[] = []
  const report = (line: string) => lines.push(line)
  await initControlPlane(folders, { machines: MACHINES, set: [], ...options }, report)
  return lines
}

function contents({ directory, state }: Folders): Readonly<Record<string, string>> {
  const files = [directory, state].flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map((each) => join(each.parentPath, each.name)),
  )
  return Object.fromEntries(files.map((file) => [file, readFileSync(file, 'utf8')]))
}

describe('the first machine', () => {
  const folders = foldersIn('first')
  let lines: readonly string[]

  beforeAll(async () => {
    lines = await init(folders, {
      endpoint: 'cloud.example.org',
      set: ['GATEWAY_REGION=North'],
    })
  })

  test('gets settings that a gateway accepts, and a report of each file', async () => {
    const env = readEnvFile(join(folders.directory, 'gateway.env'))

    const findings = await checkSettings(env, { isOffline: true })
    expect(findings.filter(({ is }) => is !== 'ok')).toEqual([])
    expect(env).toMatchObject({
      GATEWAY_PROCESS: 'gateway-1',
      GATEWAY_REGION: 'North',
      GATEWAY_PUBLIC_URL: 'https://cloud.example.org:8443',
    })
    for (const file of Object.keys(contents(folders))) expect(lines).toContain(`made  ${file}`)
  })

  test('gets a clouds.yaml that names the proxies and their certificate', () => {
    const text = readFileSync(join(folders.directory, 'clouds.yaml'), 'utf8')

    expect(parse(text)).toMatchObject({
      clouds: {
        'weir-admin': {
          auth: { auth_url: 'https://cloud.example.org:8443/identity/v3', username: 'admin' },
          region_name: 'North',
          cacert: join(folders.directory, 'tls.crt'),
        },
      },
    })
  })

  test('keeps every file when it is made again, and begins no second cluster', async () => {
    rmSync(join(folders.state, 'mariadb', 'accounts.sql'))
    const before = contents(folders)

    const again = await init(folders, {
      endpoint: 'cloud.example.org',
      set: ['GATEWAY_REGION=North'],
    })

    expect(contents(folders)).toEqual(before)
    expect(again.filter((line) => line.startsWith('made'))).toEqual([])
  })

  test('is not given another shape', async () => {
    await expect(init(folders)).rejects.toThrow(/has another control plane/)
  })
})

test.each([
  ['an even number of machines', { machines: MACHINES.slice(0, 2) }, /even number/],
  ['a machine named twice', { machines: ['127.0.0.1', '127.0.0.1', '127.0.0.2'] }, /twice/],
  ['a name for a machine', { machines: ['here'] }, /'here' is not an IP address/],
  ['an IPv6 address', { machines: ['2001:db8::1'] }, /'2001:db8::1' is an IPv6 address/],
  ['an address elsewhere', { machines: ['192.0.2.1'] }, /not an address of this machine/],
  ['a setting of a cell', { set: ['CELL_NAME=x'] }, /only settings of gateways/],
  ['a wrong setting', { set: ['GATEWAY_PROT=1'] }, /GATEWAY_PORT/],
])('%s is refused before anything is made', async (what, options, said) => {
  const folders = foldersIn(what)

  await expect(init(folders, options)).rejects.toThrow(said)
  expect(existsSync(folders.directory)).toBe(false)
})

test("the example of the Debian package is replaced, and an operator's own settings are not", async () => {
  for (const [name, content] of [
    ['example', readFileSync('deploy/debian/files/gateway.env', 'utf8')],
    ['own', 'GATEWAY_PROCESS=own\n'],
  ] as const) {
    const folders = foldersIn(name)
    mkdirSync(folders.directory, { recursive: true })
    const file = join(folders.directory, 'gateway.env')
    writeFileSync(file, content)

    await init(folders)

    expect(readFileSync(file, 'utf8') === content).toBe(name === 'own')
  }
})

test('databases elsewhere get an account, and no database is set up on the machine', async () => {
  const { databaseRootUrl } = await testServices()
  const folders = foldersIn('elsewhere')

  await init(folders, { databaseRootUrl })

  const url = new URL(readFileSync(join(folders.directory, 'database.url'), 'utf8'))
  expect([url.username, url.pathname]).toEqual(['weir', '/weir'])
  url.pathname = ''
  await (await createConnection(url.href)).end()
  expect(existsSync(join(folders.directory, 'mariadb.cnf'))).toBe(false)
})

describe('another machine', () => {
  const first = foldersIn('admitting')
  let admission: Admission

  const admit = (lifetimeMs = HOUR_MS) =>
    admitMachine(first, {
      address: '127.0.0.2',
      listenAt: { host: '127.0.0.1', port: 0 },
      lifetimeMs,
    })
  const join2 = (name: string, token: string) =>
    joinControlPlane(foldersIn(name), { from: admission.url, token }, () => {})

  beforeAll(async () => {
    await init(first)
    admission = await admit()
  })
  afterAll(() => admission?.[Symbol.asyncDispose]())

  test('gets the same secrets, and settings of its own', async () => {
    const second = foldersIn('second')

    await join2('second', admission.token)
    await admission.joined()

    for (const name of SHARED_FILES)
      expect(readFileSync(join(second.directory, name), 'utf8')).toBe(
        readFileSync(join(first.directory, name), 'utf8'),
      )
    const env = readEnvFile(join(second.directory, 'gateway.env'))
    expect(env['GATEWAY_PROCESS']).toBe('gateway-2')
    const findings = await checkSettings(env, { isOffline: true })
    expect(findings.filter(({ is }) => is !== 'ok')).toEqual([])
    expect(existsSync(join(second.state, 'mariadb', 'accounts.sql'))).toBe(false)
  })

  test('joins once', async () => {
    await expect(join2('second', admission.token)).rejects.toThrow(/control plane already/)
    await expect(join2('third', admission.token)).rejects.toThrow(/does not accept this token/)
  })

  test('gets nothing with another token', async () => {
    const [, , pin] = admission.token.split('.')
    const wrong = `weir1.${'A'.repeat(43)}.${pin}`

    await expect(join2('third', wrong)).rejects.toThrow(/does not accept this token/)
  })

  test('sends nothing to a server with another certificate', async () => {
    const [, secret] = admission.token.split('.')

    await expect(join2('third', `weir1.${secret}.${'A'.repeat(43)}`)).rejects.toThrow(
      /Nothing was sent/,
    )
  })

  test('is not admitted if the control plane does not have it', async () => {
    const address = '127.0.0.9'

    await expect(admitMachine(first, { address, lifetimeMs: HOUR_MS })).rejects.toThrow(
      'The control plane has no machine 127.0.0.9. It has: 127.0.0.1, 127.0.0.2, 127.0.0.3',
    )
  })

  test('is admitted for a time', async () => {
    await using late = await admit(1)

    await expect(late.joined()).rejects.toThrow(/has not joined in time/)
  })
})
