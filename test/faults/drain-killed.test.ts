import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import { type Operation, untilOperation } from '#test/env/api/operations.ts'
import { deleteServer, showServer, unboundServer, untilStatus } from '#test/env/api/servers.ts'
import type { CloudHost } from '#test/env/cloud/cloud-host.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import {
  type CommitKind,
  type DeathAt,
  deathsAt,
  WatchedCommits,
} from '#test/env/watched-commits.ts'

// Goal: whenever the gateway that drains a host is killed, the next one goes on: each server is moved once, one to another
// host and one to another cell.

const ROOT = '/federation/v1'
const LIMIT_MS = 240_000
const TEST_MS = 300_000
/** Of the drain, of the moves to other cells, and of the sagas that both begin. */
const TABLES = ['drain_moves', 'operations', 'sagas', 'server_moves']
/** All that change these. */
const KINDS: readonly CommitKind[] = [
  // The request begins the drain, whose progress is noted until it ends; so is that of the move to the other cell.
  { name: 'operations', count: 8, asked: 1 },
  // A server is being moved: both once, and one by each method that its cell refuses.
  { name: 'drain_moves, operations, sagas', count: 3 },
  { name: 'drain_moves, operations, server_moves', count: 1 },
  // Its cell has refused it, or the move has ended.
  { name: 'drain_moves', count: 4 },
  // A step of the move to the other cell begins.
  { name: 'server_moves', count: 4 },
  // An act that the move has asked for, or the end of one.
  { name: 'sagas', count: 8 },
]
/** Two of them are tried in every run. */
const TRIALS: readonly DeathAt[] = isFullRun
  ? deathsAt(KINDS)
  : [
      { name: 'drain_moves, operations, sagas', nth: 1, when: 'after' },
      { name: 'drain_moves, operations, server_moves', nth: 1, when: 'after' },
    ]

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient
let commits: WatchedCommits
let drained: CloudHost
let full: CloudHost

beforeAll(async () => {
  cloud = await startCloud({
    ...{ gateways: 1, cells: 2, processesPerCell: 1, hostsPerCell: 2 },
    // A dead gateway does not try for long to go on.
    gateway: { GATEWAY_DATABASE_RETRY_MS: '500' },
    // Room for one server.
    driverOf: { 'north-2': { disk_gb: '1' } },
  })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  ;[drained, full] = cloud.cell('north').computes as [CloudHost, CloudHost]
  commits = await WatchedCommits.of(cloud.gateways, 'GATEWAY_DATABASE_URL', TABLES)
  await cloud.waitUntilWhole()
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

const cordon = async (host: CloudHost, is_cordoned: boolean) =>
  admin.call('PATCH', `${ROOT}/hosts/${host.id}`, { is_cordoned })
const hostOf = async (id: string) => (await showServer(admin, id))['OS-EXT-SRV-ATTR:host']

async function serversOnDrained(): Promise<readonly string[]> {
  await cordon(drained, false)
  await cordon(full, true)
  const ids: string[] = []
  for (const name of ['near', 'far'])
    ids.push((await unboundServer(cloud, demo, 'north', { name })).id)
  await cordon(full, false)
  return ids
}

/** A gateway that is dead, and does not know it yet, answers something else. */
const hasEnded = ({ state }: Operation) => ['done', 'failed', 'cancelled'].includes(state)

async function drain(): Promise<Operation> {
  const path = `${ROOT}/hosts/${drained.id}/drain`
  const { body } = await admin.post<Operation>(path, { parallel: 2, to_other_cells: true })
  return untilOperation(admin, body.id, hasEnded, LIMIT_MS)
}

async function expectMovedOnce(ids: readonly string[], { moves, ...operation }: Operation) {
  expect(operation).toMatchObject({ state: 'done', remaining: 0, message: null })
  expect(new Map(moves!.map(({ server_id, state }) => [server_id, state]))).toEqual(
    new Map(ids.map((id) => [id, 'moved'])),
  )
  // The cell refuses one of them to move while it runs, and then shut down.
  expect(new Map(moves!.map(({ method, tries }) => [method, tries]))).toEqual(
    new Map([
      ['live', 1],
      ['cell', 3],
    ]),
  )
  for (const id of ids) await untilStatus(demo, id, 'ACTIVE')
  await expectInvariants(cloud, LIMIT_MS)
  const far = cloud.cell('south').computes.map(({ name }) => name)
  const on = await Promise.all(ids.map(hostOf))
  expect(on.filter((name) => name === full.name)).toHaveLength(1)
  expect(on.filter((name) => far.includes(String(name)))).toHaveLength(1)
  expect(await drained.guests()).toEqual([])
  const operations = await admin.get<{ operations: readonly Operation[] }>(`${ROOT}/operations`)
  expect(operations.body.operations.filter(({ state }) => state === 'running')).toEqual([])
}

async function trial(death?: DeathAt): Promise<boolean> {
  const ids = await serversOnDrained()
  const { result, hasDied } = await commits.during(drain, death)
  await expectMovedOnce(ids, result)
  for (const id of ids) await deleteServer(demo, id)
  return hasDied
}

test(
  'the commits of a drain change these tables',
  async () => {
    await trial()

    expect(new Set(commits.seen.keys())).toEqual(new Set(KINDS.map(({ name }) => name)))
    for (const { name, count } of KINDS)
      expect(commits.seen.get(name), name).toBeGreaterThanOrEqual(count)
  },
  TEST_MS,
)

test.each(TRIALS)(
  'a gateway that is killed $when commit $nth of $name leaves the drain to the next',
  async (death) => {
    expect(await trial(death)).toBe(true)
  },
  TEST_MS,
)
