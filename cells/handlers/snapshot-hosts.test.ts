import { afterAll, beforeAll, expect, test } from 'vitest'
import { type HostId, newId } from '#common/ids.ts'
import type { CellAnswer } from '#openapi/wire/cell.ts'
import { type TestCell, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../context.ts'
import { hostPage, insertHost } from '../db/hosts.ts'

const HOSTS = 1_000

let cell: TestCell
let running: RunningCell

beforeAll(async () => {
  cell = await testCell('large')
  running = await cell.addProcess('one')
  await cell.addHost({ name: 'first' })
  await cell.waitForHosts(running, 1)
})

afterAll(async () => {
  await cell?.[Symbol.asyncDispose]()
})

test('a thousand hosts are sent in pages that the bus takes', async () => {
  const { db } = running.cell.conductor
  const [host] = await hostPage(db, '', 1)
  // As much as a host of many abilities has to say.
  const down = 'ü'.repeat(1_000)
  await db.transaction(async (tx) => {
    for (let n = 1; n < HOSTS; n += 1)
      await insertHost(tx, { ...host!, id: newId<HostId>(), name: `host-${n}`, down })
  })

  const listed: string[] = []
  let page: CellAnswer<'snapshot.hosts'>
  let pages = 0
  do {
    page = await cell.ask('snapshot.hosts', { afterHost: listed.at(-1) ?? null })
    listed.push(...page.hosts.map(({ hostId }) => hostId))
    pages += 1
  } while (!page.isLast)

  expect(new Set(listed).size).toBe(HOSTS)
  expect(listed).toHaveLength(HOSTS)
  expect(pages).toBeGreaterThan(2)
})
