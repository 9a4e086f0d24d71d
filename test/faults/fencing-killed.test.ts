import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { type Operation, untilOperation } from '#test/env/api/operations.ts'
import { deleteServer, unboundServer, untilStatus } from '#test/env/api/servers.ts'
import type { CloudHost } from '#test/env/cloud/cloud-host.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { FileMachines } from '#test/env/file-machines.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import {
  type CommitKind,
  type DeathAt,
  deathsAt,
  type SeenCommit,
  WatchedCommits,
} from '#test/env/watched-commits.ts'

// Goal: whichever process is killed while a host is fenced and evacuated, of the cell or a gateway, the host is fenced once,
// and each of its servers runs once, on another host.

const ROOT = '/federation/v1'
const LIMIT_MS = 240_000
const TEST_MS = 300_000
const FENCED = 'the host is fenced'

/** The commit by which the cell says that the host is off, as its gateways are told in it. */
function ofFencing({ tables, text }: SeenCommit): string | undefined {
  return tables.has('hosts') && /fencedAt\\?":\d/.test(text) ? FENCED : undefined
}

/** All by which a gateway has the servers of the host built again, with the sagas of that. */
const EVACUATION: readonly CommitKind[] = [
  // It begins, and so does each move in its turn; its progress is noted until it ends.
  { name: 'operations', count: 3 },
  { name: 'drain_moves, operations, sagas', count: 2 },
  // A move has ended.
  { name: 'drain_moves', count: 2 },
  { name: 'sagas', count: 2 },
]
const TABLES = ['drain_moves', 'operations', 'sagas']

interface Host {
  readonly is_up: boolean
  readonly fenced_at: string | null
}

/** A cell of two processes and three hosts, of which the first fails in each trial. */
class FailingHost implements AsyncDisposable {
  readonly cloud: Cloud
  readonly host: CloudHost
  readonly #admin: ApiClient
  readonly #demo: ApiClient

  constructor(cloud: Cloud) {
    this.cloud = cloud
    this.host = cloud.hosts[0]!
    this.#admin = cloud.as('admin')
    this.#demo = cloud.as('demo')
  }

  static async open(cell: Readonly<Record<string, string>>): Promise<FailingHost> {
    const cloud = await startCloud({
      ...{ gateways: 1, cells: 1, processesPerCell: 2, hostsPerCell: 3 },
      // Dead processes do not try for long to go on.
      gateway: { GATEWAY_DATABASE_RETRY_MS: '500' },
      cell: { ...cell, CELL_FENCE_HOSTS_AFTER_S: '5', CELL_DATABASE_RETRY_MS: '500' },
    })
    return new FailingHost(cloud)
  }

  async servers(): Promise<readonly string[]> {
    for (const host of this.cloud.hosts) await this.#cordon(host, host !== this.host)
    const ids: string[] = []
    for (const name of ['one', 'two'])
      ids.push((await unboundServer(this.cloud, this.#demo, 'north', { name })).id)
    for (const host of this.cloud.hosts) await this.#cordon(host, false)
    return ids
  }

  /** The host fails; resolves with the operation that has evacuated it. */
  async evacuated(): Promise<Operation> {
    const before = new Set((await this.#evacuations()).map(({ id }) => id))
    await this.host.losePower()
    const begun = async () => (await this.#evacuations()).find(({ id }) => !before.has(id))
    const { id } = await waitFor('the evacuation to begin', begun, LIMIT_MS)
    const hasEnded = ({ state }: Operation) => ['done', 'failed', 'cancelled'].includes(state)
    const operation = await untilOperation(this.#admin, id, hasEnded, LIMIT_MS)
    expect((await this.#evacuations()).filter((each) => !before.has(each.id))).toHaveLength(1)
    return operation
  }

  async expectEvacuatedOnce(
    ids: readonly string[],
    { moves, ...operation }: Operation,
  ): Promise<void> {
    expect(operation).toMatchObject({ state: 'done', remaining: 0, message: null })
    expect(new Map(moves!.map(({ server_id, ...move }) => [server_id, move]))).toEqual(
      new Map(
        ids.map((id) => [id, expect.objectContaining({ state: 'moved', method: 'evacuate' })]),
      ),
    )
    for (const id of ids) {
      const server = await untilStatus(this.#admin, id, 'ACTIVE')
      expect(server['OS-EXT-SRV-ATTR:host']).not.toBe(this.host.name)
    }
    await this.host.process.start()
    await waitFor('the host to be back', async () => (await this.#shown()).is_up, LIMIT_MS)
    expect((await this.#shown()).fenced_at).toBeNull()
    await waitFor('it to be empty', async () => (await this.host.guests()).length === 0, LIMIT_MS)
    await expectInvariants(this.cloud, LIMIT_MS)
    const running = await Promise.all(this.cloud.hosts.map((host) => host.runningGuests()))
    expect(running.flat().toSorted((a, b) => a.localeCompare(b))).toEqual(
      ids.toSorted((a, b) => a.localeCompare(b)),
    )
    for (const id of ids) await deleteServer(this.#demo, id)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cloud[Symbol.asyncDispose]()
  }

  async #shown(): Promise<Host> {
    return (await this.#admin.get<Host>(`${ROOT}/hosts/${this.host.id}`)).body
  }

  async #evacuations(): Promise<readonly Operation[]> {
    type Listed = { readonly operations: readonly (Operation & { readonly subject_id: string })[] }
    const { operations } = (await this.#admin.get<Listed>(`${ROOT}/operations`)).body
    return operations.filter(({ subject_id }) => subject_id === this.host.id)
  }

  #cordon({ id }: CloudHost, is_cordoned: boolean) {
    return this.#admin.call('PATCH', `${ROOT}/hosts/${id}`, { is_cordoned })
  }
}

async function trial(
  failing: FailingHost,
  commits: WatchedCommits,
  death?: DeathAt,
): Promise<boolean> {
  const ids = await failing.servers()
  const { result, hasDied } = await commits.during(() => failing.evacuated(), death)
  await failing.expectEvacuatedOnce(ids, result)
  return hasDied
}

describe('a host with a fence device', () => {
  let machines: FileMachines
  let failing: FailingHost
  let ofCell: WatchedCommits
  let ofGateway: WatchedCommits

  beforeAll(async () => {
    machines = new FileMachines(['north-1'])
    failing = await FailingHost.open(machines.settings)
    const { cloud } = failing
    const { processes } = cloud.cell('north')
    ofCell = await WatchedCommits.of(processes, 'CELL_DATABASE_URL', ofFencing)
    ofGateway = await WatchedCommits.of(cloud.gateways, 'GATEWAY_DATABASE_URL', TABLES)
    await cloud.waitUntilWhole()
  })
  afterEach(async () => {
    machines.switchOn('north-1')
    if (!failing.host.process.isRunning) await failing.host.process.start()
  })
  afterAll(async () => {
    await failing?.[Symbol.asyncDispose]()
    machines[Symbol.dispose]()
  })

  test(
    'is evacuated by commits that change these tables',
    async () => {
      await trial(failing, ofGateway)

      expect(new Set(ofGateway.seen.keys())).toEqual(new Set(EVACUATION.map(({ name }) => name)))
      for (const { name, count } of EVACUATION)
        expect(ofGateway.seen.get(name), name).toBeGreaterThanOrEqual(count)
    },
    TEST_MS,
  )

  test.each<DeathAt>(
    isFullRun ? deathsAt(EVACUATION) : [{ name: 'operations', nth: 1, when: 'after' }],
  )(
    'is evacuated by the next gateway when one is killed $when commit $nth of $name',
    async (death) => {
      expect(await trial(failing, ofGateway, death)).toBe(true)
    },
    TEST_MS,
  )

  test.each(deathsAt([{ name: FENCED, count: 1 }]))(
    'is fenced by the other process of the cell when one is killed $when that commit',
    async (death) => {
      expect(await trial(failing, ofCell, death)).toBe(true)
      expect(machines.isOn('north-1')).toBe(false)
    },
    TEST_MS,
  )
})
