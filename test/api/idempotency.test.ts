import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiClient } from '#test/env/api/client.ts'
import { askForServer, SERVERS, type Server, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { expectInvariants } from '#test/env/invariants.ts'

let cloud: Cloud
let demo: ApiClient

beforeAll(async () => {
  cloud = await startCloud()
  demo = cloud.as('demo')
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const ask = (key: string, change: object = {}, client = demo, gateway?: number) =>
  askForServer(cloud, client, change, {
    headers: { 'idempotency-key': key },
    ...(gateway === undefined ? {} : { gateway }),
  })
const count = async (name: string) =>
  (await demo.get<{ servers: readonly Server[] }>(`${SERVERS}?name=^${name}`)).body.servers.length

test('a repeat gets the first server again, without its password, from any gateway', async () => {
  const key = randomUUID()
  const first = await ask(key, { name: 'once' }, demo, 0)

  const again = await ask(key, { name: 'once' }, demo, 1)

  expect([first.status, again.status]).toEqual([202, 202])
  expect(again.body.server.id).toBe(first.body.server.id)
  expect(first.body.server.adminPass).toBeDefined()
  expect(again.body.server.adminPass).toBeUndefined()
  await untilStatus(demo, first.body.server.id, 'ACTIVE')
  expect(await count('once')).toBe(1)
})

test('many at once with one key make one server', async () => {
  const key = randomUUID()

  const answers = await Promise.all(Array.from({ length: 8 }, () => ask(key, { name: 'rush' })))

  const made = answers.filter(({ status }) => status === 202)
  expect(answers.every(({ status }) => status === 202 || status === 409)).toBe(true)
  expect(new Set(made.map(({ body }) => body.server.id)).size).toBe(1)
  expect(await count('rush')).toBe(1)
})

test('the same key with another body is refused and creates nothing', async () => {
  const key = randomUUID()
  await ask(key, { name: 'mine' })

  const other = await ask(key, { name: 'other' })

  expect(other.status).toBe(422)
  expect(other.body).toMatchObject({
    unprocessableEntity: { message: expect.stringMatching(/Idempotency-Key/i) },
  })
  expect(await count('other')).toBe(0)
})

test("another project's equal key is another key", async () => {
  const key = randomUUID()
  const [mine, theirs] = [await ask(key), await ask(key, {}, cloud.as('admin'))]

  expect(theirs.status).toBe(202)
  expect(theirs.body.server.id).not.toBe(mine.body.server.id)
  await untilStatus(cloud.as('admin'), theirs.body.server.id, 'ACTIVE')
  await expectInvariants(cloud)
})

test('a request that was refused can be repeated with its key', async () => {
  const key = randomUUID()
  expect((await ask(key, { flavorRef: '999' })).status).toBe(400)

  expect((await ask(key)).status).toBe(202)
})
