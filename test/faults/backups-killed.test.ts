import { mkdtempSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { and, eq, inArray, like, or, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { firstBytesOf } from '#common/qcow2/testing.ts'
import { waitFor as waitForWithin } from '#common/wait-for.ts'
import { images } from '#gateway/db/schema/image.ts'
import { serverProtections, serverReplicas } from '#gateway/db/schema/protections.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { deleteServer, showServer, unboundServer } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { NotedBackups } from '#test/env/noted-backups.ts'
import {
  type CommitKind,
  type DeathAt,
  deathsAt,
  WatchedCommits,
} from '#test/env/watched-commits.ts'

// Goal: whenever the gateway that makes a backup by a schedule is killed, the backup is made once and in time, the next is made
// of it, no more of them are kept than are to be, and the other cell keeps the newest.

const EVERY_S = 3_600
/** Far less than a schedule's time: a backup that waits for the next one is missed. */
const LIMIT_MS = 150_000
const TEST_MS = 300_000
const TABLES = ['images', 'sagas', 'server_protections', 'server_replicas']
/** All that change these, for two backups in a row: a whole one, and the changes since, which ends the first. */
const KINDS: readonly CommitKind[] = [
  // The request.
  { name: 'server_protections, server_replicas', count: 1, asked: 1 },
  // A backup that is due is taken.
  { name: 'server_protections', count: 2 },
  // It begins, and its cell has accepted it.
  { name: 'images, sagas, server_protections', count: 2 },
  { name: 'sagas', count: 2 },
  // It is filled, with the changes that it is made of, and the first one goes.
  { name: 'images', count: 12 },
  // The other cell is to be asked, is asked, and has answered.
  { name: 'server_replicas', count: 6 },
]
/** One of them is tried in every run. */
const TRIALS: readonly DeathAt[] = isFullRun
  ? deathsAt(KINDS)
  : [{ name: 'images, sagas, server_protections', nth: 2, when: 'after' }]

interface Protection {
  readonly last_at: string
  readonly next_at: string
  readonly last_image_id: string
  readonly last_error: string | null
  readonly replica: { readonly image_id: string | null; readonly error: string | null } | null
}

const owned = new AsyncDisposableStack()
const noted = new NotedBackups()
let cloud: Cloud
let db: Database
let demo: ApiClient
let admin: ApiClient
let commits: WatchedCommits
let cacheFolder: string

beforeAll(async () => {
  cacheFolder = mkdtempSync(join(tmpdir(), 'weir-backups-'))
  owned.defer(() => rmSync(cacheFolder, { recursive: true, force: true }))
  const size = { gateways: 1, cells: 2, processesPerCell: 1, hostsPerCell: 1 }
  cloud = owned.use(
    await startCloud({
      ...size,
      // A dead gateway does not try for long to go on.
      gateway: { GATEWAY_DATABASE_RETRY_MS: '500' },
      cell: { CELL_IMAGE_CACHE_DIRECTORY: cacheFolder },
      onDriver: (driver) => Object.assign(driver, { backupChanges: noted }),
    }),
  )
  db = owned.use(new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 2 }))
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  commits = await WatchedCommits.of(cloud.gateways, 'GATEWAY_DATABASE_URL', TABLES)
  await cloud.waitUntilWhole()
})
afterAll(() => owned.disposeAsync())

const waitFor = <T>(what: string, probe: () => Promise<T>) => waitForWithin(what, probe, LIMIT_MS)
const path = (id: string) => `/federation/v1/servers/${id}/protection`
const pinsFor = async (id: string) =>
  (await readdir(join(cacheFolder, 'south-process-1'))).filter((name) =>
    name.endsWith(`.pin-${id}`),
  )

/** The schedule, once there is a backup besides this one, which the other cell keeps and whose server is idle. */
function backedUp(id: string, former?: string): Promise<Protection> {
  return waitFor('the backup and its replica', async () => {
    const { status, body } = await demo.get<Protection>(path(id))
    if (status !== 200) return undefined
    const { last_image_id: last, replica } = body
    const isKept = last !== null && replica?.image_id === last && replica.error === null
    const isIdle = (await showServer(admin, id))['OS-EXT-STS:task_state'] === null
    if (isKept && isIdle && last !== former) return body
    await lookAgain(id)
    throw new Error(`It is ${JSON.stringify(body)}`)
  })
}

/** As when the time of the schedule has passed. */
const fallDue = (id: string) =>
  db.orm
    .update(serverProtections)
    .set({ nextAt: sql`now(3)` })
    .where(eq(serverProtections.serverId, id))

/** As when the time that a cell has to fetch a backup has passed. */
const lookAgain = (id: string) =>
  db.orm
    .update(serverReplicas)
    .set({ nextAt: sql`now(3)` })
    .where(and(eq(serverReplicas.serverId, id), like(serverReplicas.lastError, 'The cell has %')))

async function twoBackups(id: string): Promise<readonly Protection[]> {
  const schedule = { every_s: EVERY_S, keep: 1, to_cell: 'south' }
  expect((await admin.put(path(id), schedule)).status).toBe(200)
  const first = await backedUp(id)
  await fallDue(id)
  const second = await backedUp(id, first.last_image_id)
  await waitFor('the first backup to go', async () => {
    const rows = await rowsOf(id)
    const isOfFirst = ({ id: own, snapshotOf }: (typeof rows)[number]) =>
      [own, snapshotOf].includes(first.last_image_id)
    if (!rows.some(isOfFirst) && rows.every(({ status }) => status === 'active')) return true
    throw new Error(`There are ${JSON.stringify(rows)}`)
  })
  return [first, second]
}

/** Images of the server, and those with changes that they were made of. */
async function rowsOf(id: string) {
  const own = await db.orm.select().from(images).where(eq(images.instanceUuid, id))
  const ids = own.map((image) => image.id)
  return db.orm
    .select()
    .from(images)
    .where(or(inArray(images.id, ids), inArray(images.snapshotOf, [id, ...ids])))
}

async function contentOf(imageId: string): Promise<Buffer> {
  const headers = { 'x-auth-token': await demo.token() }
  const answer = await fetch(`${cloud.endpoints[0]}/image/v2/images/${imageId}/file`, { headers })
  return Buffer.from(await answer.arrayBuffer())
}

async function actionsOn(id: string): Promise<readonly string[]> {
  type Listed = { readonly instanceActions: readonly { readonly action: string }[] }
  const { body } = await demo.get<Listed>(`/compute/v2.1/servers/${id}/os-instance-actions`)
  return body.instanceActions.map(({ action }) => action)
}

async function expectTwoMade(id: string, made: readonly Protection[]): Promise<void> {
  expect(await actionsOn(id)).toEqual(['createBackup', 'createBackup', 'create'])
  for (const { last_at, next_at, last_error } of made) {
    expect(Date.parse(next_at) - Date.parse(last_at)).toBe(EVERY_S * 1_000)
    expect(last_error).toBeNull()
  }
  const newest = made[1]!.last_image_id
  const disk = firstBytesOf(await contentOf(newest)).filter((byte) => byte > 0)
  expect(disk).toEqual(Array.from(disk, (_, nth) => nth + 1))
  // A host that has lost the answer to its first backup sends all of the disk again.
  const isOfChanges = noted.isOfChanges(newest, disk.length)
  expect(isOfChanges).toBeDefined()
  const rows = (await rowsOf(id)).map((image) => [image.id, image.status, image.snapshotFor])
  expect(rows).toContainEqual([newest, 'active', null])
  const parts = rows.filter(([, , snapshotFor]) => snapshotFor === 'backup-part')
  expect([rows.length, parts.length]).toEqual(isOfChanges ? [2, 1] : [1, 0])
  // Nothing, where the answer was lost to the host that has filled it.
  for (const name of noted.namesOf(id)) expect(name).toBe(newest)
  expect(await pinsFor(id)).toHaveLength(1)
}

/** Afterwards nothing is left of the server and its backups. */
async function end(id: string, { last_image_id: imageId }: Protection): Promise<void> {
  expect((await demo.delete(path(id))).status).toBe(204)
  await waitFor('the cell to let go', async () => (await pinsFor(id)).length === 0)
  await deleteServer(demo, id)
  expect((await demo.delete(`/image/v2/images/${imageId}`)).status).toBe(204)
  await waitFor('the changes to go', async () => (await rowsOf(id)).length === 0)
  await expectInvariants(cloud, LIMIT_MS)
}

async function trial(death?: DeathAt): Promise<boolean> {
  const { id } = await unboundServer(cloud, demo, 'north')
  const { result, hasDied } = await commits.during(() => twoBackups(id), death)
  await expectTwoMade(id, result)
  await end(id, result[1]!)
  return hasDied
}

test.runIf(isFullRun)(
  'the commits of two backups change these tables',
  async () => {
    await trial()

    for (const { name, count } of KINDS)
      expect(commits.seen.get(name), name).toBeGreaterThanOrEqual(count)
    expect(new Set(commits.seen.keys())).toEqual(new Set(KINDS.map(({ name }) => name)))
  },
  TEST_MS,
)

test.each(TRIALS)(
  'a gateway that is killed $when commit $nth of $name leaves the backups to the next',
  async (death) => {
    expect(await trial(death)).toBe(true)
  },
  TEST_MS,
)
