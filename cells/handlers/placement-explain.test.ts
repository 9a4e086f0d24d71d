import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { sampleBuild } from '#test/env/sample-build.ts'
import { type TestCell, testCell } from '#test/env/test-cell.ts'

let cell: TestCell

beforeAll(async () => {
  cell = await testCell('explain')
  const one = await cell.addProcess('one')
  // 128 MiB each: three and six servers by the usual overcommit of memory.
  await cell.addHost({ name: 'host-a', memoryMb: 256 })
  await cell.addHost({ name: 'host-b', memoryMb: 512 })
  await cell.waitForHosts(one, 2)
})

afterAll(() => cell?.[Symbol.asyncDispose]())

const fitting = async (count: number, change: Parameters<typeof sampleBuild>[0] = {}) => {
  const { projectId, flavor, image, zone, requestedHost, group } = sampleBuild(change)
  const about = { projectId, flavor, image, zone, requestedHost, ...(group && { group }) }
  return (await cell.ask('placement.explain', { ...about, count })).fitting
}

test('several servers fit as often as hosts have room for them together', async () => {
  expect(await fitting(40)).toBe(9)
  expect(await fitting(4)).toBe(4)
  expect(await fitting(40, { requestedHost: 'host-a' })).toBe(3)
  expect(await fitting(40, { zone: 'nowhere' })).toBe(0)
  // Nothing is kept of an answer.
  expect(await fitting(40)).toBe(9)
})

test('servers of a group fit only where its policy lets them be together', async () => {
  const group = (policy: 'affinity' | 'anti-affinity', maxPerHost = 1) => ({
    group: { id: newId(), policy, maxPerHost },
  })

  expect(await fitting(40, group('anti-affinity'))).toBe(2)
  expect(await fitting(40, group('anti-affinity', 2))).toBe(4)
  expect(await fitting(40, group('affinity'))).toBe(6)
})

test('of one server no number is answered', async () => {
  const { projectId, flavor, image, zone, requestedHost } = sampleBuild()

  const answer = await cell.ask('placement.explain', {
    ...{ projectId, flavor, image, zone, requestedHost },
  })

  expect(answer).not.toHaveProperty('fitting')
})
