import { mkdtempSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { waitFor } from '#common/wait-for.ts'
import { images } from '#gateway/db/schema/image.ts'
import { serverProtections, serverReplicas } from '#gateway/db/schema/protections.ts'
import { endOfOperation } from '#test/env/api/operations.ts'
import { act, SERVERS, type Server, smallServer } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'

// Goal: a thousand protected servers have their backups in time, as many as are kept and no more, the newest at another cell,
// from which they run when their own is lost.

const COUNT = Number(process.env['SERVERS'] ?? 1_000)
const KEEP = 2
/** One more than are kept. */
const ROUNDS = KEEP + 1
/** A usual schedule: a round is over before the next would begin. */
const EVERY_S = 3_600
/** As many are made by one request at most. */
const BATCH = 500
const LIMIT_MS = 1_800_000
const AT_A_TIME = 20
const SAMPLE = 20
const ROOT = '/federation/v1'

interface Explained {
  readonly server_id: string
  readonly image_id: string
  readonly replica_cell: string | null
}

/** Does it for each, some at a time. */
async function forAll<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const left = [...items]
  const worker = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item)
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, worker))
}

/** What the rounds have to do with. */
interface World {
  readonly cloud: Cloud
  readonly db: Database
  readonly ids: readonly string[]
}

const serversOf = async (cloud: Cloud) => {
  const path = `${SERVERS}/detail?limit=1000`
  return (await cloud.as('demo').get<{ servers: readonly Server[] }>(path)).body.servers
}

const allAre = (cloud: Cloud, status: string) =>
  waitFor(
    `all to be ${status}`,
    async () => (await serversOf(cloud)).every((each) => each.status === status),
    LIMIT_MS,
  )

/** As many servers in the northern cell; their ids. */
async function serversInNorth(cloud: Cloud): Promise<readonly string[]> {
  const [demo, admin] = [cloud.as('demo'), cloud.as('admin')]
  const project = await cloud.projectId('demo')
  const quota_set = { instances: -1, cores: -1, ram: -1 }
  await admin.put(`/compute/v2.1/os-quota-sets/${project}`, { quota_set })
  await admin.put(`/networking/v2.0/quotas/${project}`, { quota: { port: -1 } })
  const [south] = cloud.cell('south').computes
  const cordon = (is_cordoned: boolean) =>
    admin.call('PATCH', `${ROOT}/hosts/${south!.id}`, { is_cordoned })
  await cordon(true)
  for (let left = COUNT; left > 0; left -= BATCH) {
    const count = Math.min(left, BATCH)
    const change = { min_count: count, max_count: count }
    // A cell in this process that makes five hundred may be silent for a moment: clients then ask again.
    const status = await waitFor(
      'the request to be answered',
      async () => {
        const answer = await demo.post(SERVERS, smallServer(cloud, change))
        return answer.status === 503 ? undefined : answer.status
      },
      LIMIT_MS,
    )
    expect(status).toBe(202)
  }
  await allAre(cloud, 'ACTIVE')
  await cordon(false)
  return (await serversOf(cloud)).map(({ id }) => id)
}

/** Afterwards the other cell keeps a backup of each that is not this one; the new ones by server, and how long it took. */
async function replicated(
  { db, ids }: World,
  former: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, string>> {
  const began = performance.now()
  const kept = await waitFor(
    'backups at the other cell',
    async () => {
      const replicas = await db.orm.select().from(serverReplicas)
      const made = await db.orm.select().from(serverProtections)
      const wanted = new Map(made.map(({ serverId, lastImageId }) => [serverId, lastImageId]))
      const newest = replicas.flatMap(({ serverId, imageId, lastError }) => {
        const isNew = imageId !== null && imageId !== former.get(serverId)
        const isWanted = imageId === wanted.get(serverId) && lastError === null
        return isNew && isWanted ? [[serverId, imageId] as const] : []
      })
      return newest.length === ids.length ? new Map(newest) : undefined
    },
    LIMIT_MS,
  )
  const seconds = (performance.now() - began) / 1_000
  process.stdout.write(`${ids.length} backups at the other cell in ${seconds.toFixed(1)} s\n`)
  expect(seconds).toBeLessThan(EVERY_S)
  return kept
}

/** Each has so many backups, no more, and the newest is the one that the other cell keeps. */
async function expectKept(
  { db, ids }: World,
  count: number,
  newest: ReadonlyMap<string, string>,
): Promise<void> {
  const byServer = await waitFor(
    'no more backups than are kept',
    async () => {
      const rows = await db.orm.select().from(images)
      const backups = rows.filter(({ properties }) => properties['image_type'] === 'backup')
      const of = Map.groupBy(backups, ({ properties }) => properties['instance_uuid']!)
      const isExact = [...of.values()].every(
        (own) => own.length === count && own.every(({ status }) => status === 'active'),
      )
      return of.size === ids.length && isExact ? of : undefined
    },
    LIMIT_MS,
  )
  for (const [serverId, own] of byServer) {
    const last = own.toSorted((a, b) => Number(a.createdAt) - Number(b.createdAt)).at(-1)!
    expect(last.id).toBe(newest.get(serverId))
  }
}

/** Afterwards the northern cell was declared lost, and its servers run in the other from these images. */
async function recovered({ cloud, ids }: World, newest: ReadonlyMap<string, string>) {
  const [demo, admin] = [cloud.as('demo'), cloud.as('admin')]
  const north = cloud.cell('north')
  for (const process of [...north.processes, ...north.computes.map((host) => host.process)])
    await process.kill()
  const path = `${ROOT}/cells/north`
  await waitFor(
    'the cell to be unreachable',
    async () => !(await admin.get<{ is_alive: boolean }>(path)).body.is_alive,
    60_000,
  )
  await admin.post(`${path}/lost`, { statement: 'Its power was cut.' })
  await allAre(cloud, 'ERROR')
  const dry = await admin.get<{ servers: readonly Explained[] }>(`${path}/recovery`)
  const { servers } = dry.body
  expect(new Map(servers.map((each) => [each.server_id, each.image_id]))).toEqual(newest)
  expect(new Set(servers.map(({ replica_cell }) => replica_cell))).toEqual(new Set(['south']))

  const { body } = await admin.post<{ id: string }>(`${path}/recovery`, { parallel: 50 })
  const operation = await endOfOperation(admin, body.id, LIMIT_MS)
  expect(operation).toMatchObject({ state: 'done', remaining: 0 })
  await allAre(cloud, 'ACTIVE')
  const [south] = cloud.cell('south').computes
  expect(new Set(await south!.guests())).toEqual(new Set(ids))
  for (const id of ids.slice(0, SAMPLE)) {
    const image = await demo.get<{ name: string }>(`/image/v2/images/${newest.get(id)}`)
    const { output } = (await act(demo, id, { 'os-getConsoleOutput': {} })).body
    expect(output).toContain(`from image ${image.body.name}`)
  }
}

test.runIf(isFullRun)(
  `${COUNT} protected servers have their newest backups elsewhere, and run from them`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-thousand-'))
    using _removed = { [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
    const driver = { vcpus: '100000', memory_mb: '10000000', disk_gb: '1000000' }
    const cell = { CELL_IMAGE_CACHE_DIRECTORY: folder }
    const size = { cells: 2, processesPerCell: 1, hostsPerCell: 1 }
    await using cloud = await startCloud({ ...size, driver, cell })
    await using db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 2 })
    const ids = await serversInNorth(cloud)
    expect(ids).toHaveLength(COUNT)
    const world = { cloud, db, ids }

    const admin = cloud.as('admin')
    const schedule = { every_s: 24 * EVERY_S, keep: KEEP, to_cell: 'south' }
    await forAll(ids, (id) => {
      const protect = () => admin.put(`${ROOT}/servers/${id}/protection`, schedule)
      return waitFor('an answer', async () => (await protect()).status === 200, LIMIT_MS)
    })
    let newest: ReadonlyMap<string, string> = new Map()
    for (let round = 1; round <= ROUNDS; round += 1) {
      // As when the time of the schedule has passed.
      if (round > 1) await db.orm.update(serverProtections).set({ nextAt: sql`now(3)` })
      newest = await replicated(world, newest)
      await expectKept(world, Math.min(round, KEEP), newest)
    }
    const pins = async () =>
      (await readdir(join(folder, 'south-process-1'))).filter((name) => name.includes('.pin-'))
    await expect.poll(async () => (await pins()).length, { timeout: LIMIT_MS }).toBe(COUNT)
    await recovered(world, newest)
  },
  6 * LIMIT_MS,
)
