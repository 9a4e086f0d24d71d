import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { certificatePin } from '#common/tls/certificate.ts'
import { listSites } from '#gateway/db/sites.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { checkSettings } from '../config/check-settings.ts'
import { readEnvFile } from '../config/env-file.ts'
import type { Folders } from '../control-plane/control-plane.ts'
import { initControlPlane } from '../control-plane/init.ts'
import { loadSite, ownSite } from '../control-plane/site-files.ts'
import { pinnedCertificate } from '../join/pinned-certificate.ts'
import { admitSite } from './admit-site.ts'
import { joinAsSite } from './join-site.ts'
import { prepareSite } from './prepare.ts'

const LIFETIME_MS = 60_000
const home = mkdtempSync(join(tmpdir(), 'weir-sites-'))
const north = foldersIn('north')
const south = foldersIn('south')
let db: Database

function foldersIn(name: string): Folders {
  return { directory: join(home, name, 'etc'), state: join(home, name, 'state') }
}

const file = ({ directory }: Folders, name: string) => readFileSync(join(directory, name), 'utf8')

beforeAll(async () => {
  const options = { machines: ['127.0.0.1'], set: ['GATEWAY_REGION=North'] }
  await initControlPlane(north, options, () => undefined)
  const url = await migratedDatabase('sites', 'gateway')
  db = new Database({ url, connectionsMax: 2 })
  writeFileSync(join(north.directory, 'database.url'), url)
  writeFileSync(
    join(north.directory, 'site.json'),
    JSON.stringify({ name: 'north', number: 1, sites: [] }),
  )
})

afterAll(async () => {
  await db[Symbol.asyncDispose]()
  rmSync(home, { recursive: true })
})

test.each([
  ['a name that is none', 'North', /up to 32 small letters/],
  ['another name than it has', 'east', /is of site north already/],
  ['a database that is down', 'north', /start weir-mariadb/],
])('a site is not prepared with %s', async (_what, name, said) => {
  await expect(prepareSite(north, name, () => undefined)).rejects.toThrow(said)
})

test('a second site has the secrets of the first, and settings and a certificate of its own', async () => {
  const options = { name: 'south', machines: ['127.0.0.2'], lifetimeMs: LIFETIME_MS }
  {
    await using admission = await admitSite(north, { ...options })
    const { url: from, token } = admission
    await joinAsSite(south, { from, token }, () => undefined)
    await admission.joined()
    await expect(joinAsSite(south, { from, token }, () => undefined)).rejects.toThrow(
      /has a control plane already/,
    )
  }

  for (const name of ['gateway.key', 'operator.nk', 'gateway-account.nk', 'admin.password'])
    expect(file(south, name)).toBe(file(north, name))
  expect(file(south, 'mariadb.password')).not.toBe(file(north, 'mariadb.password'))
  const env = readEnvFile(join(south.directory, 'gateway.env'))
  expect(env).toMatchObject({
    GATEWAY_SITE: 'south',
    GATEWAY_REGION: 'North',
    GATEWAY_PUBLIC_URL: 'https://127.0.0.2:8443',
    NODE_EXTRA_CA_CERTS: join(south.directory, 'authority.crt'),
  })
  const findings = await checkSettings(env, { isOffline: true })
  expect(findings.filter(({ is }) => is !== 'ok')).toEqual([])
  expect(file(south, 'mariadb.cnf')).toMatch(/\nserver-id=2\n/)
  const certificate = new X509Certificate(file(south, 'tls.crt'))
  const authority = new X509Certificate(file(north, 'tls.crt'))
  expect(certificate.verify(authority.publicKey)).toBe(true)
  expect(certificate.subjectAltName).toContain('127.0.0.2')
  expect(loadSite(south)?.sites).toMatchObject([{ name: 'south', databases: '127.0.0.2:3306' }])
  expect(await listSites(db)).toMatchObject([{ name: 'south', url: 'https://127.0.0.2:8443' }])
  const account = new URL(ownSite(north).urlAt('127.0.0.1:3306'))
  expect(account.password).toBe(new URL(ownSite(south).databaseUrl).password)
  expect(readFileSync(join(south.state, 'mariadb', 'accounts.sql'), 'utf8')).toContain(
    account.password,
  )
})

test('who trusts a site by the pin of its token trusts both', async () => {
  const [cert, key] = [file(south, 'tls.crt'), file(south, 'tls.key')]
  const server = createServer({ cert, key }, (_, response) => response.end('south'))
  server.listen(0, '127.0.0.2')
  await once(server, 'listening')
  const url = new URL(`https://127.0.0.2:${(server.address() as AddressInfo).port}`)

  const ca = await pinnedCertificate(url, certificatePin(new X509Certificate(cert)))

  const dispatcher = new Agent({ connect: { ca } })
  const { body } = await request(url, { dispatcher })
  expect(await body.text()).toBe('south')
  expect(ca).toContain(file(north, 'tls.crt').trim())
  await dispatcher.destroy()
  server.close()
})

test('a third site is refused', async () => {
  const options = { name: 'east', machines: ['127.0.0.3'], lifetimeMs: LIFETIME_MS }

  await expect(admitSite(north, options)).rejects.toThrow(/A deployment has two/)
})
