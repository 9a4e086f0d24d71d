import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { configFromEnv } from '#cells/compute/config.ts'
import { startCompute } from '#cells/compute/context.ts'
import { ImageClient } from '#cells/images/image-client.ts'
import { ask } from '#common/bus/ask.ts'
import { connectBus } from '#common/bus/connect.ts'
import { stampGeneration } from '#common/bus/site-generation.ts'
import { workContext } from '#common/context.ts'
import { Database } from '#common/db/database.ts'
import { migrateDatabase } from '#common/db/migrate.ts'
import { newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { waitFor } from '#common/wait-for.ts'
import { type Account, callApi, type Session, signIn } from '#deploy/api/session.ts'
import { ensureFlavors } from '#deploy/catalog/ensure-flavors.ts'
import { ensureImage, simulatedImage } from '#deploy/catalog/ensure-image.ts'
import { followActiveSite } from '#deploy/standby/follow.ts'
import { promoteSite } from '#deploy/standby/promote.ts'
import { standbyStatus } from '#deploy/standby/status.ts'
import { createFakeDriver } from '#drivers/fake/driver.ts'
import { fakeSettings } from '#drivers/fake/settings.ts'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { computePermissions, SERVER_SIDE_PERMISSIONS } from '#gateway/bus/accounts.ts'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'
import { beginSites, keepSite } from '#gateway/db/sites.ts'
import { cellSubject } from '#openapi/wire.ts'
import { ApiClient } from '../env/api/client.ts'
import { isFullRun } from '../env/full-run.ts'
import { type JoinedCell, joinCellTo } from '../env/joined-cell.ts'
import { newSharedSecrets, TestSite } from '../env/test-site.ts'

// Goal: where a site is lost with its gateways, its database and its bus, the other one is promoted by one command, cells find
// it by themselves, and nothing is lost but what was not replicated yet; the site that comes back steps down.

const SETUP_MS = 180_000
const LIMIT_MS = 60_000
const BOOTS_BEFORE = 12
const SERVERS = '/compute/v2.1/servers'
const VERSION = { 'openstack-api-version': 'compute 2.90' }
const log = createLogger('standby', 'info')
const directory = mkdtempSync(join(tmpdir(), 'weir-standby-'))
const secrets = newSharedSecrets()
const passwords = { adminPassword: 'secret admin', demoPassword: 'secret demo' }

const owned = new AsyncDisposableStack()
let north: TestSite
let south: TestSite
let cell: JoinedCell
let image: string

interface Server {
  readonly id: string
  readonly status: string
}

/** A boot that was answered 2xx. */
interface Accepted {
  readonly id: string
  readonly askedAt: number
  readonly answeredAt: number
}

function account(name: 'admin' | 'demo'): Account {
  return { userName: name, projectName: name, password: `secret ${name}` }
}

async function boot(demo: Session): Promise<Accepted> {
  const askedAt = performance.now()
  const body = { server: { name: 'one', flavorRef: '1', imageRef: image, networks: 'none' } }
  const { server } = await callApi<{ server: Server }>(demo, {
    method: 'POST',
    path: SERVERS,
    headers: VERSION,
    body,
  })
  return { id: server.id, askedAt, answeredAt: performance.now() }
}

async function listed(session: Session): Promise<readonly Server[]> {
  const { servers } = await callApi<{ servers: readonly Server[] }>(session, {
    method: 'GET',
    path: `${SERVERS}/detail`,
  })
  return servers
}

const statusOf = async (session: Session, id: string) =>
  (await listed(session)).find((each) => each.id === id)?.status ?? 'gone'

async function refusalAt(site: TestSite, path: string): Promise<string> {
  const answer = await fetch(site.url + path)
  expect(answer.status).toBe(503)
  return answer.text()
}

/** A host of the cell, on the cell's own bus. */
async function startHost(): Promise<void> {
  const hostId = newId()
  const credentials = join(directory, 'host.creds')
  const rights = computePermissions(cell.id, hostId)
  writeFileSync(credentials, await issueCredentials('host', cell.accountSeed, rights))
  const config = configFromEnv({
    COMPUTE_CELL_ID: cell.id,
    COMPUTE_HOST_ID: hostId,
    COMPUTE_HOST_NAME: 'host',
    COMPUTE_NATS_URL: cell.busUrl,
    COMPUTE_NATS_CREDENTIALS_FILE: credentials,
    COMPUTE_IMAGE_URL: `${north.url}/image,${south.url}/image`,
    COMPUTE_STATE_DIRECTORY: join(directory, 'host'),
    COMPUTE_DRIVER: 'fake',
    COMPUTE_DRIVER_HOSTNAME: 'host',
    COMPUTE_DRIVER_VCPUS: '1000',
    COMPUTE_DRIVER_MEMORY_MB: '1000000',
    COMPUTE_DRIVER_DISK_GB: '100000',
    COMPUTE_LOG_LEVEL: 'error',
  })
  const images = owned.use(new ImageClient(config.imageUrls))
  owned.use(
    await startCompute(config, {
      images,
      createDriver: async (environment) =>
        createFakeDriver(environment, fakeSettings(config.driverSettings)),
    }),
  )
}

async function prepareNorth(): Promise<void> {
  await migrateDatabase(north.rootUrl, 'gateway/db/migrations')
  await using db = new Database({ url: north.rootUrl, connectionsMax: 2 })
  await bootstrapIdentity(db, passwords)
  for (const site of [north, south]) await keepSite(db, site.record)
  await beginSites(db, 'north', 1)
}

beforeAll(async () => {
  owned.defer(() => rmSync(directory, { recursive: true, force: true }))
  north = owned.use(await TestSite.start('north', 1, { directory, ...secrets }))
  south = owned.use(await TestSite.start('south', 2, { directory, ...secrets, keys: north.keys }))
  await prepareNorth()
  await north.startGateway('active')
  await followActiveSite(south.own, [north.record], () => undefined)
  await south.startGateway('standby')
  const admin = await signIn(north.url, account('admin'))
  await ensureFlavors(admin)
  await ensureImage(admin, simulatedImage)
  const { images } = await callApi<{ images: readonly { id: string }[] }>(admin, {
    method: 'GET',
    path: '/image/v2/images',
  })
  image = images[0]!.id
  const client = owned.use(
    new ApiClient({ user: 'admin', project: 'admin', password: 'secret admin' }, () => [north.url]),
  )
  // It is told only of the site that it joins.
  cell = owned.use(await joinCellTo({ admin: client, endpoints: [north.url], directory }, 'edge'))
  await startHost()
  const project = await callApi<{ projects: readonly { id: string }[] }>(admin, {
    method: 'GET',
    path: '/identity/v3/projects?name=demo',
  })
  await callApi(admin, {
    method: 'PUT',
    path: `/compute/v2.1/os-quota-sets/${project.projects[0]!.id}`,
    body: { quota_set: { instances: -1, cores: -1, ram: -1 } },
  })
  const demo = await signIn(north.url, account('demo'))
  await waitFor('a host', () => hasRun(demo), LIMIT_MS)
}, SETUP_MS)

/** Whether a server was built. A gateway that has not heard of the host yet accepts one, and shows it in ERROR. */
async function hasRun(demo: Session): Promise<boolean> {
  const { id } = await boot(demo)
  const status = await waitFor(
    'it',
    async () => {
      const now = await statusOf(demo, id)
      return now === 'BUILD' ? undefined : now
    },
    LIMIT_MS,
  )
  await callApi(demo, { method: 'DELETE', path: `${SERVERS}/${id}` })
  await waitFor('its end', async () => (await statusOf(demo, id)) === 'gone', LIMIT_MS)
  return status === 'ACTIVE'
}

afterAll(() => owned.disposeAsync(), SETUP_MS)

test('a site on standby answers with the site that is active, and writes nothing', async () => {
  expect(await refusalAt(south, '/readyz')).toContain(`Site north is active at ${north.url}`)
  expect(await refusalAt(south, SERVERS)).toContain(`Site north is active at ${north.url}`)
  const healthy = await fetch(`${south.url}/healthz`)
  expect(healthy.status).toBe(200)
  await using db = new Database({ url: south.databaseUrl, connectionsMax: 1 })
  await expect(keepSite(db, south.record)).rejects.toMatchObject({ kind: 'unavailable' })
})

test('its database follows, and it could be promoted', async () => {
  const status = () => standbyStatus(south.own)

  await expect.poll(status).toMatchObject({
    state: 'standby',
    replication: { isConnected: true, isApplying: true, lagS: 0, lagTransactions: 0 },
    sites: [
      { name: 'north', says: 'active' },
      { name: 'south', says: 'standby' },
    ],
    obstacle: null,
  })
})

test('it is not promoted while the active site answers', async () => {
  await expect(promoteSite(south.own, {})).rejects.toThrow(
    /Site north still answers at .* --stopped/,
  )
  await expect(followActiveSite(north.own, [], () => undefined)).rejects.toThrow(/is active/)
})

test('a site that is lost whole in the middle of boots is succeeded by the other', async () => {
  const accepted: Accepted[] = []
  let isOver = false
  const before = await signIn(north.url, account('demo'))
  const bootAll = async () => {
    while (!isOver)
      await boot(before).then(
        (each) => accepted.push(each),
        () => sleep(20),
      )
  }
  const users = Promise.all([bootAll(), bootAll()])
  await waitFor('boots', () => accepted.length >= BOOTS_BEFORE, LIMIT_MS)

  await north.kill()
  isOver = true
  await users
  const begun = performance.now()
  const { generation } = await promoteSite(south.own, {})
  expect(generation).toBe(2)
  const promotedMs = performance.now() - begun
  const demo = await waitFor('a token', () => signIn(south.url, account('demo')), LIMIT_MS)
  const first = await waitFor('a boot', () => boot(demo), LIMIT_MS)
  const rtoMs = first.answeredAt - begun

  const present = new Set((await listed(demo)).map(({ id }) => id))
  const lost = accepted.filter(({ id }) => !present.has(id))
  // Replication keeps the order of commits: who has a server has every one that was answered before it was asked for.
  const kept = accepted.filter(({ id }) => present.has(id))
  for (const { answeredAt } of lost)
    expect(kept.filter(({ askedAt }) => askedAt > answeredAt)).toEqual([])
  const lastMs = Math.max(...accepted.map(({ answeredAt }) => answeredAt))
  const rpoMs = lost.length === 0 ? 0 : lastMs - Math.min(...lost.map((each) => each.answeredAt))
  log.info(
    {
      ...{ accepted: accepted.length, lost: lost.length, rpoMs: Math.round(rpoMs) },
      ...{ promotedMs: Math.round(promotedMs), rtoMs: Math.round(rtoMs) },
    },
    'site lost',
  )
  // The cell was never told of this site by a setting.
  await waitFor('the cell', async () => (await statusOf(demo, first.id)) === 'ACTIVE', LIMIT_MS)
  await expect
    .poll(async () => (await listed(demo)).filter(({ status }) => status !== 'ACTIVE'))
    .toEqual([])
  await callApi(demo, { method: 'DELETE', path: `${SERVERS}/${first.id}` })
  await waitFor('its end', async () => (await statusOf(demo, first.id)) === 'gone', LIMIT_MS)
  await endOrphans(lost.map(({ id }) => id))
})

/** Servers that the lost site had accepted and not replicated are in the cell alone, where operators find them. */
async function endOrphans(lost: readonly string[]): Promise<void> {
  const admin = await signIn(south.url, account('admin'))
  const path = `/federation/v1/cells/${cell.id}/orphans`
  const { orphans } = await callApi<{ orphans: readonly { server_id: string }[] }>(admin, {
    method: 'GET',
    path,
  })
  expect(lost).toEqual(expect.arrayContaining(orphans.map((each) => each.server_id)))
}

test('the cell refuses what the former site asks', async () => {
  const credentialsFile = join(directory, 'former.creds')
  const rights = issueCredentials('former', cell.accountSeed, SERVER_SIDE_PERMISSIONS)
  writeFileSync(credentialsFile, await rights)
  const nats = await connectBus({ url: cell.busUrl, credentialsFile, name: 'former' }, log)
  owned.defer(() => nats.close())
  const audit = () =>
    ask(nats, {
      subject: cellSubject(cell.id, 'instance.audit'),
      payload: { serverId: newId() },
      work: workContext({}),
      timeoutMs: 10_000,
      whom: 'The cell',
    })

  await expect(audit()).rejects.toThrow('Another site has been promoted: it has generation 2')
  stampGeneration(nats, 2)
  expect(await audit()).toMatchObject({ view: null })
})

test('the site that comes back steps down', async () => {
  await north.restartServices()
  await north.startGateway('standby')

  expect(await refusalAt(north, SERVERS)).toContain(
    `Site south was promoted, and is active at ${south.url}`,
  )
  expect(await standbyStatus(north.own)).toMatchObject({ state: 'stepped-down' })
  await expect(promoteSite(north.own, { stopped: 'it was not' })).rejects.toThrow(
    /changes made there would be lost/,
  )
})

test('it follows the other, and takes its place again', { skip: !isFullRun }, async () => {
  await followActiveSite(north.own, [], () => undefined)
  await expect
    .poll(() => standbyStatus(north.own))
    .toMatchObject({ state: 'standby', obstacle: null, replication: { lagTransactions: 0 } })
  const before = await signIn(south.url, account('demo'))
  const last = await boot(before)
  await waitFor('it', async () => (await statusOf(before, last.id)) === 'ACTIVE', LIMIT_MS)

  const { generation } = await promoteSite(north.own, { stopped: 'it steps down by itself' })

  expect(generation).toBe(3)
  await waitFor(
    'south to step down',
    () => refusalAt(south, SERVERS).catch(() => undefined),
    LIMIT_MS,
  )
  expect(readFileSync(join(directory, 'south', 'gateway.log'), 'utf8')).toContain('site steps down')
  const demo = await waitFor('a token', () => signIn(north.url, account('demo')), LIMIT_MS)
  const again = await waitFor('a boot', () => boot(demo), LIMIT_MS)
  await waitFor('it', async () => (await statusOf(demo, again.id)) === 'ACTIVE', LIMIT_MS)
  expect(await statusOf(demo, last.id)).toBe('ACTIVE')
  await followActiveSite(south.own, [], () => undefined)
  await expect
    .poll(() => standbyStatus(south.own))
    .toMatchObject({ state: 'standby', obstacle: null })
})
