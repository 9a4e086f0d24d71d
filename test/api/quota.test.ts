import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import {
  act,
  activeServer,
  askForServer,
  deleteServer,
  SERVERS,
  showServer,
  untilStatus,
} from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

let cloud: Cloud
let demo: ApiClient
let projectId: string

beforeAll(async () => {
  cloud = await startCloud()
  demo = cloud.as('demo')
  projectId = await cloud.projectId('demo')
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const setQuota = async (quota_set: object, query = '') => {
  const { status } = await cloud
    .as('admin')
    .put(`/compute/v2.1/os-quota-sets/${projectId}${query}`, { quota_set })
  expect(status).toBe(200)
}
const used = async () => {
  const { body } = await demo.get<{ limits: { absolute: Readonly<Record<string, number>> } }>(
    '/compute/v2.1/limits',
  )
  const { totalInstancesUsed, totalCoresUsed, totalRAMUsed } = body.limits.absolute
  return { instances: totalInstancesUsed, cores: totalCoresUsed, ram: totalRAMUsed }
}

const deleteAll = async () => {
  const { body } = await demo.get<{ servers: readonly { readonly id: string }[] }>(SERVERS)
  for (const { id } of body.servers) await deleteServer(demo, id)
}

test('a server counts from its promise to its end', async () => {
  expect(await used()).toEqual({ instances: 0, cores: 0, ram: 0 })

  const { id } = await activeServer(cloud, demo)
  expect(await used()).toEqual({ instances: 1, cores: 1, ram: 128 })

  await deleteServer(demo, id)
  expect(await used()).toEqual({ instances: 0, cores: 0, ram: 0 })
})

test.each([
  ['instances', { instances: 1 }, /instances: Requested 2, but already used 0 of 1 instances/],
  ['cores', { cores: 1 }, /cores: Requested 2, but already used 0 of 1 cores/],
  ['ram', { ram: 200 }, /ram: Requested 256, but already used 0 of 200 ram/],
])(
  'over the quota of %s nothing is made, and the numbers are named',
  async (_what, quota, says) => {
    await setQuota({ instances: 10, cores: 20, ram: 51_200, ...quota })

    const answer = await askForServer(cloud, demo, { min_count: 2, max_count: 2 })

    expect(answer.status).toBe(403)
    expect(answer.body).toMatchObject({
      forbidden: { code: 403, message: expect.stringMatching(says) },
    })
    expect(await used()).toEqual({ instances: 0, cores: 0, ram: 0 })
  },
)

test('however many ask at once at both gateways, no more than the quota are made', async () => {
  await setQuota({ instances: 4, cores: 20, ram: 51_200 })

  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) => askForServer(cloud, demo, { name: `r${index}` })),
  )

  const made = answers.filter(({ status }) => status === 202)
  expect(made).toHaveLength(4)
  expect(answers.filter(({ status }) => status === 403)).toHaveLength(8)
  expect((await used()).instances).toBe(4)
  for (const { body } of made) await deleteServer(demo, body.server.id)
  await expectInvariants(cloud)
})

test('a request for up to so many gets as many as the quota allows', async () => {
  await setQuota({ instances: 2, cores: 20, ram: 51_200 })

  const answer = await askForServer(cloud, demo, { min_count: 1, max_count: 5 })

  expect(answer.status).toBe(202)
  expect((await used()).instances).toBe(2)
  await deleteAll()
})

test("a user's own limit holds within the project's, for new servers and for larger ones", async () => {
  await setQuota({ instances: 10, cores: 20, ram: 51_200 })
  const first = await activeServer(cloud, demo)
  const { user_id: userId } = await showServer(demo, first.id)
  const of = `?user_id=${String(userId)}`
  await setQuota({ instances: 2, ram: 512 }, of)

  const refused = await askForServer(cloud, demo, { min_count: 2 })
  expect([refused.status, refused.body]).toMatchObject([
    403,
    { forbidden: { message: expect.stringMatching(/instances: Requested 2, but already used 1/) } },
  ])
  const several = await askForServer(cloud, demo, { min_count: 1, max_count: 5 })
  expect(several.status).toBe(202)
  expect((await used()).instances).toBe(2)
  await untilStatus(demo, several.body.server.id, 'ACTIVE')
  await setQuota({ ram: 256 }, of)
  const larger = await act(demo, first.id, { resize: { flavorRef: cloud.catalog.small } })
  expect([larger.status, larger.body]).toMatchObject([
    403,
    { forbidden: { message: expect.stringMatching(/ram: .*already used 256 of 256 ram/) } },
  ])

  await cloud.as('admin').delete(`/compute/v2.1/os-quota-sets/${projectId}${of}`)
  await deleteAll()
  await expectInvariants(cloud)
})
