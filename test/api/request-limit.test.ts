import { expect, test } from 'vitest'
import { computeApi } from '#test/env/compute-api.ts'

test('a project over its rate learns when to come back, and delays no other project', async () => {
  await using api = await computeApi('request_limit', [], {
    GATEWAY_PROJECT_REQUESTS_PER_MINUTE: '2',
  })
  const alice = await api.user('alice', 'blue', 'member')
  const bob = await api.user('bob', 'red', 'member')
  const statuses = [await alice.call('listFlavors'), await alice.call('listFlavors')]

  const refused = await alice.call('listFlavors')

  expect(statuses.map(({ status }) => status)).toEqual([200, 200])
  expect([refused.status, refused.body]).toMatchObject([
    429,
    { overLimit: { code: 429, retryAfter: refused.headers.get('retry-after') } },
  ])
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(30)
  expect((await bob.call('listFlavors')).status).toBe(200)
  expect((await alice.call('listVersions')).status).toBe(200)
})

test('a gateway with as many requests as it takes refuses others at once, and takes them again afterwards', async () => {
  await using api = await computeApi('request_slots', [], {
    GATEWAY_REQUESTS_IN_PROGRESS_MAX: '2',
  })
  const alice = await api.user('alice', 'blue', 'member')

  const answers = await Promise.all(Array.from({ length: 30 }, () => alice.call('listFlavors')))

  const refused = answers.filter(({ status }) => status === 503)
  expect(refused.length).toBeGreaterThan(0)
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(30 - refused.length)
  expect(refused[0]!.headers.get('retry-after')).toBe('5')
  expect(refused[0]!.body).toMatchObject({
    serviceUnavailable: { code: 503, message: expect.stringContaining('2 requests') as string },
  })
  for (let each = 0; each < 3; each += 1) expect((await alice.call('listFlavors')).status).toBe(200)
})
