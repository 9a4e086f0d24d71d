import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ImageApi, imageApi } from './image-api.ts'
import { textOf } from './json.ts'

let api: ImageApi

beforeAll(async () => {
  api = await imageApi({
    GATEWAY_IMAGE_PROJECT_COUNT_MAX: '3',
    GATEWAY_IMAGE_PROJECT_BYTES_MAX: '10000',
  })
})

afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
})

test('a project has no more images than its limit, however many are made at once', async () => {
  const create = () => api.ask(api.demo, 'POST', '/images', { name: 'x' })

  const replies = await Promise.all(Array.from({ length: 6 }, create))
  const made = replies.filter(({ status }) => status === 201)
  const refused = replies.filter(({ status }) => status === 413)

  expect(made).toHaveLength(3)
  expect(refused).toHaveLength(3)
  expect(refused[0]?.body['error']?.['message']).toContain('image_count_total is over limit of 3')
  expect((await api.ask(api.demo, 'GET', '/info/usage')).body['usage']).toMatchObject({
    image_count_total: { limit: 3, usage: 3 },
  })
  for (const { body } of made) await api.ask(api.demo, 'DELETE', `/images/${textOf(body['id'])}`)
  expect((await create()).status).toBe(201)
})

test('nor more bytes, staged ones included', async () => {
  const [first, second, third] = [
    await api.create(api.admin),
    await api.create(api.admin),
    await api.create(api.admin),
  ]
  const filled = await Promise.all([
    api.upload(api.admin, first, randomBytes(6_000)),
    api.upload(api.admin, second, randomBytes(6_000), {}, 'stage'),
  ])

  expect(filled.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 413])
  expect((await api.upload(api.admin, third, randomBytes(4_000))).status).toBe(204)
  expect(await api.storedFiles()).toHaveLength(2)
  const fresh = filled[0]?.status === 413 ? first : second
  const refused = await api.upload(api.admin, fresh, 'x')
  expect(await refused.text()).toContain('image_size_total is over limit of 10000')
  expect((await api.show(api.admin, fresh)).body['status']).toBe('queued')
})
