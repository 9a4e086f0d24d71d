import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from './api/client.ts'
import { type Operation, untilOperation } from './api/operations.ts'
import { deleteServer, unboundServer, untilStatus } from './api/servers.ts'
import type { CloudHost } from './cloud/cloud-host.ts'
import { type Cloud, type CloudCell, startCloud } from './cloud.ts'

const ROOT = '/federation/v1'
const LIMIT_MS = 240_000
const WATCH_MS = 200

interface Host {
  readonly is_up: boolean
  readonly fenced_at: string | null
  readonly fence_problem: string | null
}

/** Cells of two processes and three hosts, which fence those that do not answer for five seconds. */
export function startFencingCells(
  count: number,
  cell: Readonly<Record<string, string>>,
): Promise<Cloud> {
  return startCloud({
    ...{ gateways: 1, cells: count, processesPerCell: 2, hostsPerCell: 3 },
    // Dead processes do not try for long to go on.
    gateway: { GATEWAY_DATABASE_RETRY_MS: '500' },
    cell: { ...cell, CELL_FENCE_HOSTS_AFTER_S: '5', CELL_DATABASE_RETRY_MS: '500' },
  })
}

/** How a host fails, and how it is brought back. */
interface HostFailure {
  readonly fails: (host: CloudHost) => Promise<void> | void
  readonly returns: (host: CloudHost) => Promise<void> | void
}

export const POWER_LOSS: HostFailure = {
  fails: (host) => host.losePower(),
  returns: (host) => host.process.start(),
}
/** Its guests run on, until it stops them. */
export const CUT_OFF: HostFailure = {
  fails: ({ process }) => process.freeze(),
  returns: ({ process }) => process.thaw(),
}

/** The first host of a cell, which fails in each trial. */
export class FailingHost {
  readonly cloud: Cloud
  readonly cell: CloudCell
  readonly host: CloudHost
  readonly #failure: HostFailure
  readonly #admin: ApiClient
  readonly #demo: ApiClient

  constructor(cloud: Cloud, cell: CloudCell, failure: HostFailure) {
    this.cloud = cloud
    this.cell = cell
    this.host = cell.computes[0]!
    this.#failure = failure
    this.#admin = cloud.as('admin')
    this.#demo = cloud.as('demo')
  }

  async servers(): Promise<readonly string[]> {
    const { computes, name: zone } = this.cell
    for (const host of computes) await this.#cordon(host, host !== this.host)
    const ids: string[] = []
    for (const name of ['one', 'two'])
      ids.push((await unboundServer(this.cloud, this.#demo, zone, { name })).id)
    for (const host of computes) await this.#cordon(host, false)
    return ids
  }

  /** The host fails, and answers again once the cell waits for it to stop its guests. */
  async heardAgain(): Promise<void> {
    await this.#failure.fails(this.host)
    const isLeftAlone = async () => (await this.#shown()).fence_problem !== null
    await waitFor('the host to be left alone', isLeftAlone, LIMIT_MS)
    await this.returned()
  }

  /** The host fails; resolves with the operation that has evacuated it. */
  async evacuated(): Promise<Operation> {
    const before = new Set((await this.#evacuations()).map(({ id }) => id))
    await this.#failure.fails(this.host)
    const begun = async () => (await this.#evacuations()).find(({ id }) => !before.has(id))
    const { id } = await waitFor('the evacuation to begin', begun, LIMIT_MS)
    const hasEnded = ({ state }: Operation) => ['done', 'failed', 'cancelled'].includes(state)
    const operation = await untilOperation(this.#admin, id, hasEnded, LIMIT_MS)
    expect((await this.#evacuations()).filter((each) => !before.has(each.id))).toHaveLength(1)
    return operation
  }

  async expectEvacuated(ids: readonly string[], { moves, ...operation }: Operation): Promise<void> {
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
  }

  /** The host is brought back, and serves by itself. */
  async returned(): Promise<void> {
    await this.#failure.returns(this.host)
    await waitFor('the host to be back', async () => (await this.#shown()).is_up, LIMIT_MS)
    const isForgiven = async () => (await this.#shown()).fence_problem === null
    await waitFor('the host to be in touch', isForgiven, LIMIT_MS)
    expect((await this.#shown()).fenced_at).toBeNull()
  }

  /** Each of the servers runs once, on hosts of which this is true; they are deleted. */
  async expectOnce(ids: readonly string[], isOn: (host: CloudHost) => boolean): Promise<void> {
    const others = this.cell.computes.filter((host) => !isOn(host))
    const guests = async () => (await Promise.all(others.map((host) => host.guests()))).flat()
    await waitFor('none elsewhere', async () => (await guests()).length === 0, LIMIT_MS)
    for (const id of ids) await untilStatus(this.#demo, id, 'ACTIVE')
    expect((await this.#running()).toSorted((a, b) => a.localeCompare(b))).toEqual(
      ids.toSorted((a, b) => a.localeCompare(b)),
    )
    for (const id of ids) await deleteServer(this.#demo, id)
  }

  /** What the work results in; no server has two guests that run meanwhile. */
  async watched<T>(work: () => Promise<T>): Promise<T> {
    let isOver = false
    const watch = async () => {
      while (!isOver) {
        const running = await this.#running()
        expect(running).toEqual([...new Set(running)])
        await sleep(WATCH_MS)
      }
    }
    const [result] = await Promise.all([work().finally(() => (isOver = true)), watch()])
    return result
  }

  async #running(): Promise<readonly string[]> {
    const running = await Promise.all(this.cell.computes.map((host) => host.runningGuests()))
    return running.flat()
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
