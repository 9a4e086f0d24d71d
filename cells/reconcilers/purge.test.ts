import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { sagas } from '#common/saga/schema.ts'
import { usageOf } from '#test/env/cell-engine.ts'
import { operationOn } from '#test/env/sample-build.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../context.ts'
import { readFeedState } from '../db/feed.ts'
import { operations } from '../db/schema/instances.ts'
import { allocations, resourceProviders } from '../db/schema/placement.ts'
import { auditAllocations } from './allocation-audit.ts'
import { purgeOnce } from './purge.ts'

let cell: TestCell
let running: RunningCell
let host: TestHost

beforeAll(async () => {
  cell = await testCell('purge')
  running = await cell.addProcess('one')
  host = await cell.addHost({ name: 'host' })
  await cell.waitForHosts(running, 1)
})

afterAll(() => cell?.[Symbol.asyncDispose]())

const LONG = 86_400_000
const kept = { operationsMs: LONG, sagasMs: LONG, feedMs: LONG, feedRowsMax: 1_000_000 }
const orm = () => running.cell.conductor.db.orm

test('purge forgets old answers and sagas, but never those of a server that is still there', async () => {
  const staying = await cell.activeServer()
  const gone = operationOn()
  await cell.ask('instance.delete', { operation: gone })

  const report = await purgeOnce(running.cell.conductor, {
    ...kept,
    operationsMs: -1_000,
    sagasMs: -1_000,
  })

  expect(report['operations']).toBeGreaterThan(0)
  const answers = await orm().select().from(operations)
  expect(answers.map(({ serverId }) => serverId)).toEqual([staying.serverId])
  expect(await orm().select().from(sagas).where(eq(sagas.state, 'done'))).toEqual([])
})

test('the feed keeps rows that no gateway has applied, and reports a gap once there are too many', async () => {
  await cell.activeServer()
  const { db } = running.cell.conductor
  const { incarnation } = running.cell
  const { last } = await readFeedState(db)
  const read = (after: number) => cell.ask('feed.read', { incarnation, after, limit: 1_000 })

  await purgeOnce(running.cell.conductor, kept)
  const whole = await read(0)
  await read(last - 2)
  await purgeOnce(running.cell.conductor, kept)
  const late = await read(0)
  const rest = await read(last - 2)
  await purgeOnce(running.cell.conductor, { ...kept, feedRowsMax: 1 })

  expect([whole.isGap, whole.rows.length]).toEqual([false, whole.last])
  expect([late.isGap, late.rows]).toEqual([true, []])
  expect([rest.isGap, rest.rows.slice(0, 2).map(({ n }) => n)]).toEqual([false, [last - 1, last]])
  expect((await read(last - 2)).isGap).toBe(true)
  expect((await read(last)).isGap).toBe(false)
})

test('the audit releases allocations without a server and corrects counters that drifted', async () => {
  const orphan = newId()
  const createdAt = new Date(Date.now() - 3_600_000)
  await orm()
    .insert(allocations)
    .values({ consumerId: orphan, providerId: host.id, resourceClass: 'VCPU', used: 3, createdAt })
  await orm().update(resourceProviders).set({ vcpusUsed: 40, instances: 9 })

  await auditAllocations(running.cell)

  const { held, counted } = await usageOf(running)
  expect(counted).toBe(held)
  expect(await orm().select().from(allocations).where(eq(allocations.consumerId, orphan))).toEqual(
    [],
  )
  expect(await auditAllocations(running.cell)).toEqual({ orphans: 0, corrected: 0, groups: 0 })
})

test('a row at which the audit fails keeps no other from its turn', async () => {
  const [poisoned, orphan] = [newId<string>(), newId<string>()].toSorted() as [string, string]
  const createdAt = new Date(Date.now() - 3_600_000)
  const held = { providerId: host.id, resourceClass: 'VCPU', used: 3, createdAt }
  for (const consumerId of [poisoned, orphan])
    await orm()
      .insert(allocations)
      .values({ consumerId, ...held })
  const refuse = sql`create trigger refuse before delete on allocations for each row
    if old.consumer_id = ${sql.raw(`'${poisoned}'`)} then signal sqlstate '45000' set message_text = 'no'; end if`
  await orm().execute(refuse)

  await auditAllocations(running.cell)

  const left = await orm().select({ id: allocations.consumerId }).from(allocations)
  const ids = left.map(({ id }) => id)
  expect([ids.includes(poisoned), ids.includes(orphan)]).toEqual([true, false])
  const { held: sum, counted } = await usageOf(running)
  expect(counted).toBe(sum)
  await orm().execute(sql`drop trigger refuse`)
  await auditAllocations(running.cell)
  const rest = await orm().select().from(allocations).where(eq(allocations.consumerId, poisoned))
  expect(rest).toEqual([])
})
