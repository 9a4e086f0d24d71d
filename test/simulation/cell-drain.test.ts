import { expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import type { Operation } from '#test/env/api/operations.ts'
import { SERVERS, type Server, smallServer } from '#test/env/api/servers.ts'
import { startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { WeirCommand } from '#test/env/weir-command.ts'

// Goal: `weir cell drain` empties a cell with a thousand servers into another one, and none of them is lost, doubled or changed.

const COUNT = Number(process.env['SERVERS'] ?? 1_000)
/** From each host. */
const PARALLEL = 25
/** Made by one request, and running before the next: a loaded machine answers too late otherwise. */
const BATCH = 250
const LIMIT_MS = 600_000

interface Listed {
  readonly hosts: readonly { readonly id: string; readonly name: string }[]
}

/** Asks as the command line does, and less often than a thousand moves could be read. */
async function ended(admin: ApiClient, id: string): Promise<Operation> {
  const path = `/federation/v1/operations/${id}?wait=10`
  return waitFor(
    `operation ${id}`,
    async () => {
      const { body } = await admin.get<Operation>(path)
      return body.state === 'running' ? undefined : body
    },
    LIMIT_MS,
  )
}

interface Counts {
  readonly server_counts: readonly { readonly status: string; readonly count: number }[]
}

async function activeCount(admin: ApiClient): Promise<number | undefined> {
  const { body } = await admin.get<Counts>('/federation/v1/server-counts')
  return body.server_counts.find(({ status }) => status === 'ACTIVE')?.count
}

test.runIf(isFullRun)(
  `a cell of ${COUNT} servers is drained into another cell`,
  async () => {
    const size = { vcpus: '100000', memory_mb: '10000000', disk_gb: '1000000' }
    const unwired = ['gateway', 'host'] as const
    await using cloud = await startCloud({ cells: 2, hostsPerCell: 2, driver: size, unwired })
    const [demo, admin] = [cloud.as('demo'), cloud.as('admin')]
    const quota = { instances: -1, cores: -1, ram: -1 }
    const project = await cloud.projectId('demo')
    await admin.put(`/compute/v2.1/os-quota-sets/${project}`, { quota_set: quota })
    await admin.put(`/networking/v2.0/quotas/${project}`, { quota: { port: -1 } })
    const { hosts } = (await admin.get<Listed>('/federation/v1/hosts')).body
    const empty = hosts.filter(({ name }) => name.startsWith('south-'))
    const cordon = async (isCordoned: boolean) => {
      for (const { id } of empty)
        await admin.call('PATCH', `/federation/v1/hosts/${id}`, { is_cordoned: isCordoned })
    }
    await cordon(true)
    const untilActive = (expected: number) =>
      waitFor('all to be active', async () => (await activeCount(admin)) === expected, LIMIT_MS)
    for (let made = 0; made < COUNT; made += BATCH) {
      const count = Math.min(COUNT - made, BATCH)
      const { server } = smallServer(cloud, { min_count: count, max_count: count })
      const { status, body: refusal } = await demo.post(SERVERS, { server })
      expect(status, JSON.stringify(refusal)).toBe(202)
      await untilActive(made + count)
    }
    const servers = async () =>
      (await demo.get<{ servers: readonly Server[] }>(`${SERVERS}/detail?limit=1000`)).body.servers
    const before = new Map((await servers()).map(({ id, addresses }) => [id, addresses]))
    expect(before.size).toBe(COUNT)
    await cordon(false)
    const began = performance.now()

    const command = new WeirCommand(cloud, 'admin')
    const drain = `cell drain north --to-other-cells --parallel ${PARALLEL}`
    const operations = await command.json<readonly Operation[]>(drain)
    expect(operations).toHaveLength(2)
    for (const { id } of operations) {
      const { moves = [], ...operation } = await ended(admin, id)
      expect(operation).toMatchObject({ state: 'done', remaining: 0 })
      // No host of the cell could have taken one.
      expect(moves.filter(({ method }) => method !== 'cell')).toEqual([])
    }
    const seconds = (performance.now() - began) / 1_000
    process.stdout.write(`moved ${COUNT} servers in ${seconds.toFixed(1)} s\n`)

    await untilActive(COUNT)
    expect(new Map((await servers()).map(({ id, addresses }) => [id, addresses]))).toEqual(before)
    await expectInvariants(cloud, 60_000)
  },
  LIMIT_MS,
)
