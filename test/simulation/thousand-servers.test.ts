import { count, eq, gt } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { waitFor } from '#common/wait-for.ts'
import { guestRestarts } from '#gateway/db/schema/protections.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { endOfOperation } from '#test/env/api/operations.ts'
import { SERVERS, type Server, smallServer } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { expectInvariants } from '#test/env/invariants.ts'

// Goal: of a thousand servers all are made, moved off their host and started again, and none is lost, doubled or changed.

const COUNT = Number(process.env['SERVERS'] ?? 1_000)
const PARALLEL = 20
/** Asked for by one request. */
const BATCH = 250
const LIMIT_MS = 900_000
const INVARIANTS_MS = 60_000

describe.skipIf(!isFullRun)(`${COUNT} servers in one cell (only in the long run)`, () => {
  let cloud: Cloud
  let demo: ApiClient
  let admin: ApiClient

  beforeAll(async () => {
    const size = { vcpus: '100000', memory_mb: '10000000', disk_gb: '1000000' }
    cloud = await startCloud({ gateways: 1, cells: 1, hostsPerCell: 2, driver: size })
    demo = cloud.as('demo')
    admin = cloud.as('admin')
    const project = await cloud.projectId('demo')
    const quota_set = { instances: -1, cores: -1, ram: -1 }
    await admin.put(`/compute/v2.1/os-quota-sets/${project}`, { quota_set })
    await admin.put(`/networking/v2.0/quotas/${project}`, { quota: { port: -1 } })
  })
  afterAll(() => cloud?.[Symbol.asyncDispose]())

  const servers = async () => {
    const path = `${SERVERS}/detail?all_tenants=1&limit=1000`
    return (await admin.get<{ servers: readonly Server[] }>(path)).body.servers
  }
  const untilAll = (what: string, is: (server: Server) => boolean) =>
    waitFor(
      `all servers ${what}`,
      async () => {
        const all = await servers()
        return all.length === COUNT && all.every(is) ? all : undefined
      },
      LIMIT_MS,
    )
  const isActive = ({ status }: Server) => status === 'ACTIVE'
  const hostOf = (server: Server) => server['OS-EXT-SRV-ATTR:host']
  const addressesOf = (all: readonly Server[]) =>
    new Map(all.map(({ id, addresses }) => [id, addresses]))
  const seconds = (since: number) => ((performance.now() - since) / 1_000).toFixed(1)

  test(
    'are made by requests for many',
    async () => {
      const began = performance.now()
      for (let left = COUNT; left > 0; left -= BATCH) {
        const many = Math.min(left, BATCH)
        const { server } = smallServer(cloud, { min_count: many, max_count: many })
        const { status, body } = await demo.post(SERVERS, { server })
        expect(status, JSON.stringify(body)).toBe(202)
      }
      await untilAll('to be active', isActive)
      process.stdout.write(`made ${COUNT} servers in ${seconds(began)} s\n`)
      await expectInvariants(cloud, INVARIANTS_MS)
    },
    LIMIT_MS,
  )

  test(
    'leave a host that is drained for the other one',
    async () => {
      const before = addressesOf(await untilAll('to be active', isActive))
      const [drained, other] = cloud.hosts
      const began = performance.now()

      const path = `/federation/v1/hosts/${drained!.id}/drain`
      const { body } = await admin.post<{ id: string }>(path, { parallel: PARALLEL })
      const ended = await endOfOperation(admin, body.id, LIMIT_MS)

      expect(ended).toMatchObject({ state: 'done', remaining: 0 })
      process.stdout.write(`drained a host of them in ${seconds(began)} s\n`)
      const after = await untilAll('to be on the other host', (server) => {
        return isActive(server) && hostOf(server) === other!.name
      })
      expect(addressesOf(after)).toEqual(before)
      await expectInvariants(cloud, INVARIANTS_MS)
    },
    LIMIT_MS,
  )

  test(
    'are started again, each once, where all of their guests ended at the same time',
    async () => {
      await using db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })
      const policy = { name: 'always-on', is_default: true, on_guest_failure: 'restart' }
      expect((await admin.post('/federation/v1/placement-policies', policy)).status).toBe(201)
      const before = addressesOf(await untilAll('to be active', isActive))
      const host = cloud.hosts[1]!
      const began = performance.now()

      for (const id of before.keys()) host.crash(id)

      const restarted = async () => {
        const rows = await db.orm
          .select({ servers: count() })
          .from(guestRestarts)
          .where(gt(guestRestarts.restarts, 0))
        return rows[0]!.servers === COUNT
      }
      await waitFor('all guests to be started again', restarted, LIMIT_MS)
      const after = await untilAll('to be active', isActive)
      process.stdout.write(`started ${COUNT} guests again in ${seconds(began)} s\n`)
      const again = await db.orm
        .select({ servers: count() })
        .from(guestRestarts)
        .where(eq(guestRestarts.restarts, 1))
      expect(again).toEqual([{ servers: COUNT }])
      expect(addressesOf(after)).toEqual(before)
      await expectInvariants(cloud, INVARIANTS_MS)
    },
    LIMIT_MS,
  )
})
