import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { activeServer, deleteServer, showServer } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import {
  type CommitKind,
  type DeathAt,
  deathsAt,
  WatchedCommits,
} from '#test/env/watched-commits.ts'

// Goal: a server whose guest has crashed is started again, once, whenever the gateway that does so is killed.

const LIMIT_MS = 150_000
const TEST_MS = 240_000
const TABLES = ['guest_restarts', 'sagas']
const KINDS: readonly CommitKind[] = [
  // The crash is noted, its restart is taken, and settled.
  { name: 'guest_restarts', count: 3 },
  // The start begins, and ends.
  { name: 'sagas', count: 2 },
]
/** One of them is tried in every run: after the others a minute passes before another gateway may take the restart. */
const TRIALS: readonly DeathAt[] = isFullRun
  ? deathsAt(KINDS)
  : [{ name: 'sagas', nth: 1, when: 'after' }]

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient
let commits: WatchedCommits

beforeAll(async () => {
  cloud = await startCloud({
    ...{ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 1 },
    // A dead gateway does not try for long to go on.
    gateway: { GATEWAY_DATABASE_RETRY_MS: '500' },
  })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  const policy = { name: 'always-on', is_default: true, on_guest_failure: 'restart' }
  expect((await admin.post('/federation/v1/placement-policies', policy)).status).toBe(201)
  commits = await WatchedCommits.of(cloud.gateways, 'GATEWAY_DATABASE_URL', TABLES)
  await cloud.waitUntilWhole()
})
afterAll(() => cloud?.[Symbol.asyncDispose]())

/** Newest first. */
async function actionsOn(id: string): Promise<readonly string[]> {
  type Listed = { readonly instanceActions: readonly { readonly action: string }[] }
  const { body } = await demo.get<Listed>(`/compute/v2.1/servers/${id}/os-instance-actions`)
  return body.instanceActions.map(({ action }) => action)
}

async function trial(death?: DeathAt): Promise<boolean> {
  const { id } = await activeServer(cloud, demo)
  const { hasDied } = await commits.during(async () => {
    cloud.hosts[0]!.crash(id)
    await waitFor(
      'the server to run again',
      async () => {
        const isStarted = (await actionsOn(id)).includes('start')
        return isStarted && (await showServer(demo, id)).status === 'ACTIVE'
      },
      LIMIT_MS,
    )
    await expectInvariants(cloud, LIMIT_MS)
  }, death)
  expect(await actionsOn(id)).toEqual(['start', 'stop', 'create'])
  expect(await cloud.hosts[0]!.runningGuests()).toEqual([id])
  await expectInvariants(cloud, LIMIT_MS)
  await deleteServer(demo, id)
  return hasDied
}

test(
  'the commits of a restart change these tables',
  async () => {
    await trial()

    for (const { name, count } of KINDS)
      expect(commits.seen.get(name), name).toBeGreaterThanOrEqual(count)
    expect(new Set(commits.seen.keys())).toEqual(new Set(KINDS.map(({ name }) => name)))
  },
  TEST_MS,
)

test.each(TRIALS)(
  'a gateway that is killed $when commit $nth of $name leaves the restart to the next',
  async (death) => {
    expect(await trial(death)).toBe(true)
  },
  TEST_MS,
)
