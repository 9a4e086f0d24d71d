import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { queueServers } from '#gateway/db/server-index.ts'
import { type RequestPlan, requestBytes } from '#test/bench/request.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { createServer, SERVERS, smallServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { sampleServer } from '#test/env/sample-server.ts'
import { isFullRun } from '../env/full-run.ts'
import type { Outcome } from './overload/commands.ts'
import { Load } from './overload/load.ts'

const LISTED = 1_000
const CONNECTIONS = 5_000
const TIMES = 5
const STORM_MS = 12_000
const CALM_MS = 4_000
const RATE_MS = 2_000
const RATE_CONNECTIONS = 16
const WATCHERS = 4
/** Those who watch pause, so that they are no load themselves. */
const WATCH_PAUSE_MS = 4
/** A look reads all metrics, and takes milliseconds of the gateway where it has many connections. */
const MEMORY_PAUSE_MS = 1_000
/** After which a gateway must be as before. */
const RECOVERY_MS = 5_000
const RESIDENT = /^process_resident_memory_bytes (\d+)/m

let cloud: Cloud
let demo: ApiClient
let stranger: ApiClient
let owned: AsyncDisposableStack

beforeAll(async () => {
  owned = new AsyncDisposableStack()
  const room = { vcpus: '100000', memory_mb: '100000000', disk_gb: '1000000' }
  cloud = owned.use(
    await startCloud({
      gateways: 1,
      cells: 1,
      processesPerCell: 1,
      outside: ['gateway', 'cell'],
      gateway: { GATEWAY_LOG_LEVEL: 'info', GATEWAY_PROJECT_REQUESTS_PER_MINUTE: '0' },
      driver: room,
    }),
  )
  demo = cloud.as('demo')
  stranger = cloud.as('stranger')
  const admin = cloud.as('admin')
  const project = await cloud.projectId('demo')
  const unlimited = { quota_set: { instances: -1, cores: -1, ram: -1 } }
  await admin.put(`/compute/v2.1/os-quota-sets/${project}`, unlimited)
  await admin.put(`/networking/v2.0/quotas/${project}`, { quota: { port: -1 } })
  await using db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })
  const owner = { projectId: project, userId: 'u'.repeat(32) }
  const active = { vmState: 'active', taskState: null } as const
  await db.transaction(async (tx) =>
    queueServers(
      tx,
      Array.from({ length: LISTED }, () => sampleServer(owner, cloud.cells[0]!.id, active)),
    ),
  )
})

afterAll(() => owned.disposeAsync())

/** The kinds of requests of the storm, each a thing that costs something else. */
async function kinds(): Promise<Readonly<Record<string, string>>> {
  const headers = { 'X-Auth-Token': await demo.token(), 'OpenStack-API-Version': 'compute 2.37' }
  const text = (plan: RequestPlan) => requestBytes(plan).toString('latin1')
  const { user, password, project } = cloud.foundation.accounts.demo
  const domain = { id: 'default' }
  const auth = {
    identity: { methods: ['password'], password: { user: { name: user, password, domain } } },
    scope: { project: { name: project, domain } },
  }
  const boot = smallServer(cloud, { networks: 'none' })
  return {
    list: text({ method: 'GET', path: `${SERVERS}/detail?limit=${LISTED}`, headers }),
    boot: text({ method: 'POST', path: SERVERS, headers, body: boot }),
    login: text({ method: 'POST', path: '/identity/v3/auth/tokens', headers: {}, body: { auth } }),
  }
}

async function residentBytes(): Promise<number> {
  return Number(RESIDENT.exec(await cloud.metrics())?.[1])
}

/** The highest so far, until it is ended. */
function watchMemory(): { end(): Promise<number> } {
  let isOver = false
  const highest = (async () => {
    let bytes = 0
    while (!isOver) {
      bytes = Math.max(bytes, await residentBytes())
      await sleep(MEMORY_PAUSE_MS)
    }
    return bytes
  })()
  return {
    end: () => {
      isOver = true
      return highest
    },
  }
}

/** The load of one project, and its effect on another. */
class Scene implements AsyncDisposable {
  readonly #storm = new Load()
  readonly #watcher = new Load()
  readonly #origin = cloud.endpoints[0]!
  readonly #read: string
  readonly #requests: Readonly<Record<string, string>>
  /** By kind, where all kinds have a share. */
  readonly sustainable: Record<string, number> = {}

  constructor(read: string, requests: Readonly<Record<string, string>>) {
    this.#read = read
    this.#requests = requests
  }

  async measureSustainable(): Promise<void> {
    const kinds = Object.entries(this.#requests)
    for (const [name, request] of kinds) {
      const load = { origin: this.#origin, connections: RATE_CONNECTIONS, durationMs: RATE_MS }
      const { perSecond } = await this.#storm.carryOut({ ...load, loop: { request, pauseMs: 0 } })
      this.sustainable[name] = perSecond / kinds.length
    }
  }

  watch(durationMs: number): Promise<Outcome> {
    const loop = { request: this.#read, pauseMs: WATCH_PAUSE_MS }
    const load = { origin: this.#origin, connections: WATCHERS, durationMs }
    return this.#watcher.carryOut({ ...load, loop })
  }

  /** So many times as much as can be sustained. */
  async under(times: number, connections: number, durationMs: number) {
    const streams = Object.entries(this.#requests).map(([name, request]) => {
      return { name, request, perSecond: times * this.sustainable[name]! }
    })
    const load = { origin: this.#origin, connections, durationMs }
    const [caused, seen] = await Promise.all([
      this.#storm.carryOut({ ...load, streams }),
      this.watch(durationMs),
    ])
    return { caused, seen }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#storm[Symbol.asyncDispose]()
    await this.#watcher[Symbol.asyncDispose]()
  }
}

async function stage(): Promise<Scene> {
  const id = await createServer(cloud, stranger)
  await untilStatus(stranger, id, 'ACTIVE')
  const headers = { 'X-Auth-Token': await stranger.token() }
  const read = requestBytes({ method: 'GET', path: `${SERVERS}/${id}`, headers })
  const scene = new Scene(read.toString('latin1'), await kinds())
  await scene.measureSustainable()
  return scene
}

test.runIf(isFullRun)(
  'a storm of one project leaves another its reads, and the gateway its memory',
  async () => {
    await using scene = await stage()
    const usual = () => scene.under(1, RATE_CONNECTIONS, CALM_MS)
    const idle = await scene.watch(CALM_MS)
    const before = await usual()
    const memoryBefore = await residentBytes()
    const memory = watchMemory()
    const storm = await scene.under(TIMES, CONNECTIONS, STORM_MS)
    const memoryMax = await memory.end()
    await sleep(RECOVERY_MS)
    const after = await scene.watch(CALM_MS)
    const again = await usual()

    const p99s = { idle, before: before.seen, storm: storm.seen, after, again: again.seen }
    const figures = {
      sustainablePerSecond: scene.sustainable,
      readP99Ms: Object.fromEntries(Object.entries(p99s).map(([name, { p99Ms }]) => [name, p99Ms])),
      memoryMiB: { before: memoryBefore / 2 ** 20, max: memoryMax / 2 ** 20 },
      answers: { before: before.caused.statuses, storm: storm.caused.statuses },
    }
    process.stdout.write(`${JSON.stringify(figures, rounded, 1)}\n`)
    // The machine may have other work before or after the storm.
    const normal = Math.max(before.seen.p99Ms, again.seen.p99Ms)
    expect(storm.seen.p99Ms).toBeLessThan(3 * normal)
    expect(after.p99Ms).toBeLessThan(normal)
    expect(memoryMax).toBeLessThan(1.5 * memoryBefore)
    expect(Object.keys(storm.seen.statuses['loop'] ?? {})).toEqual(['200'])
    for (const statuses of Object.values(storm.caused.statuses)) {
      const all = Object.keys(statuses)
      expect(all).toContain('429')
      expect(['200', '201', '202', '429']).toEqual(expect.arrayContaining(all))
    }
    const { broken, withoutRetryAfter } = storm.caused
    expect({ broken, withoutRetryAfter }).toEqual({ broken: 0, withoutRetryAfter: 0 })
  },
)

function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value) : value
}
