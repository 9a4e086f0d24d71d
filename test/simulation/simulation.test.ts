import { randomInt } from 'node:crypto'
import { expect, test } from 'vitest'
import { SERVERS, type Server, untilGone } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { SeededRandom } from '#test/env/random.ts'
import { endTrouble, type Ledger, troubleStep, userStep } from './actors.ts'

/** SEED repeats a run's choices (not its timing); SIMULATE_S makes it longer. */
const SEED = Number(process.env['SEED'] ?? randomInt(2 ** 31))
const RUN_MS = Number(process.env['SIMULATE_S'] ?? 20) * 1_000
const USERS = 4
const TROUBLE_EVERY_MS = 250
const STEPS_MAX = 100_000
const QUIET_LIMIT_MS = 90_000
const TIME_LIMIT_MS = RUN_MS + 400_000

test(`under any faults nothing is lost, doubled or left over (SEED=${SEED})`, {
  timeout: TIME_LIMIT_MS,
}, async () => {
  await using cloud = await startCloud({ driver: { memory_mb: '1024' } })
  await cloud.as('admin').put(`/compute/v2.1/os-quota-sets/${await cloud.projectId('demo')}`, {
    quota_set: { instances: 40, cores: 40 },
  })
  const ledger: Ledger = { reserved: new Set(), deleted: new Set(), statuses: new Map() }
  const random = new SeededRandom(SEED)
  const endsAt = Date.now() + RUN_MS

  await Promise.all([
    ...Array.from({ length: USERS }, () => useUntil(cloud, random, ledger, endsAt)),
    troubleUntil(cloud, random, endsAt),
  ])
  await endTrouble(cloud)
  // Builds that were begun go on, and on a machine whose disk is busy the cells' heartbeats wait for them.
  await cloud.waitUntilWhole(QUIET_LIMIT_MS)

  await expectInvariants(cloud, QUIET_LIMIT_MS)
  const demo = cloud.as('demo')
  const { body } = await demo.get<{ servers: readonly Server[] }>(`${SERVERS}?limit=1000`)
  const alive = [...ledger.reserved].filter((id) => !ledger.deleted.has(id))
  expect(new Set(body.servers.map(({ id }) => id))).toEqual(new Set(alive))
  expect(ledger.reserved.size).toBeGreaterThan(USERS)

  for (const id of alive) await demo.delete(`${SERVERS}/${id}`)
  for (const id of alive) await untilGone(demo, id)
  await expectInvariants(cloud)
  for (const host of cloud.hosts) expect(await host.guests()).toEqual([])
})

async function useUntil(
  cloud: Cloud,
  random: SeededRandom,
  ledger: Ledger,
  endsAt: number,
): Promise<void> {
  for (let step = 0; step < STEPS_MAX && Date.now() < endsAt; step += 1)
    await userStep(cloud, cloud.as('demo'), random, ledger)
}

async function troubleUntil(cloud: Cloud, random: SeededRandom, endsAt: number): Promise<void> {
  for (let step = 0; step < STEPS_MAX && Date.now() < endsAt; step += 1) {
    await troubleStep(cloud, random)
    await new Promise((resolve) => setTimeout(resolve, TROUBLE_EVERY_MS))
  }
}
