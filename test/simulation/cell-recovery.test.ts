import { expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { endOfOperation } from '#test/env/api/operations.ts'
import { SERVERS, type Server, smallServer } from '#test/env/api/servers.ts'
import { startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'

// Goal: the thousand servers of a cell that is lost run in another one, a bounded number at a time, each once and as the same server.

const COUNT = Number(process.env['SERVERS'] ?? 1_000)
const PARALLEL = 50
/** As many are made by one request at most. */
const BATCH = 500
const LIMIT_MS = 600_000
const NORTH = '/federation/v1/cells/north'

test.runIf(isFullRun)(
  `a lost cell of ${COUNT} servers is recovered in another cell`,
  async () => {
    const size = { vcpus: '100000', memory_mb: '10000000', disk_gb: '1000000' }
    await using cloud = await startCloud({ cells: 2, hostsPerCell: 1, driver: size })
    const [demo, admin] = [cloud.as('demo'), cloud.as('admin')]
    const project = await cloud.projectId('demo')
    const quota = { instances: -1, cores: -1, ram: -1 }
    await admin.put(`/compute/v2.1/os-quota-sets/${project}`, { quota_set: quota })
    await admin.put(`/networking/v2.0/quotas/${project}`, { quota: { port: -1 } })
    const north = cloud.cell('north')
    const [south] = cloud.cell('south').computes
    const cordon = (is_cordoned: boolean) =>
      admin.call('PATCH', `/federation/v1/hosts/${south!.id}`, { is_cordoned })
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
    const servers = async () =>
      (await demo.get<{ servers: readonly Server[] }>(`${SERVERS}/detail?limit=1000`)).body.servers
    const allAre = (status: string) =>
      waitFor(
        `all to be ${status}`,
        async () => (await servers()).every((each) => each.status === status),
        LIMIT_MS,
      )
    await allAre('ACTIVE')
    const seen = (all: readonly Server[]) =>
      new Map(all.map(({ id, name, addresses }) => [id, { name, addresses }]))
    const before = seen(await servers())
    expect(before.size).toBe(COUNT)
    await cordon(false)
    for (const process of [...north.processes, ...north.computes.map((host) => host.process)])
      await process.kill()
    await waitFor(
      'the cell to be unreachable',
      async () => !(await admin.get<{ is_alive: boolean }>(NORTH)).body.is_alive,
      60_000,
    )
    expect((await admin.post(`${NORTH}/lost`, { statement: 'Its power was cut.' })).status).toBe(
      202,
    )
    await allAre('ERROR')
    const began = performance.now()

    const { body } = await admin.post<{ id: string }>(`${NORTH}/recovery`, { parallel: PARALLEL })
    let most = 0
    await waitFor(
      'the recovery to end',
      async () => {
        const building = (await servers()).filter(({ status }) => status === 'BUILD')
        most = Math.max(most, building.length)
        const path = `/federation/v1/operations/${body.id}`
        return (await admin.get<{ state: string }>(path)).body.state !== 'running'
      },
      LIMIT_MS,
    )
    expect(await endOfOperation(admin, body.id)).toMatchObject({ state: 'done', remaining: 0 })
    const seconds = (performance.now() - began) / 1_000
    process.stdout.write(
      `recovered ${COUNT} servers in ${seconds.toFixed(1)} s, at most ${most} at a time\n`,
    )

    expect(most).toBeLessThanOrEqual(PARALLEL)
    await allAre('ACTIVE')
    expect(seen(await servers())).toEqual(before)
    expect(new Set(await south!.guests())).toEqual(new Set(before.keys()))
  },
  2 * LIMIT_MS,
)
