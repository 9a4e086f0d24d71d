import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import type { FeedBody } from '#openapi/wire/feed.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import { CoreEnv, orderFor, work } from '#test/env/compute-core.ts'
import type { ScriptedCell } from '#test/env/scripted-cell.ts'
import { readFeedPosition } from '../../db/cell-mappings.ts'
import { countMissing, markMissing } from '../../db/missing-servers.ts'
import type { RunningCompute } from '../open-compute.ts'
import { startServers } from '../servers/boot/start-servers.ts'

let env: CoreEnv
let core: RunningCompute
let cell: ScriptedCell

beforeAll(async () => {
  env = await CoreEnv.open('feed', ['north'])
  core = await env.core()
  cell = env.cells[0]!
  cell.isPrompt = false
})
afterAll(async () => {
  await core?.[Symbol.asyncDispose]()
  await env?.[Symbol.asyncDispose]()
})

/** Servers that the cell has accepted and says nothing more of by itself. */
async function accepted(count: number): Promise<readonly string[]> {
  const order = orderFor(cell, { count: Math.min(count, 10) })
  const runs = await startServers(core, work(), order)
  await Promise.all(runs.map((run) => run.finished))
  return order.servers.map(({ row }) => row.id)
}

function applied(): Promise<void> {
  return expect
    .poll(async () => (await readFeedPosition(env.db, cell.id))?.position)
    .toBe(cell.rows.at(-1)!.n)
}

const missingHere = async () => (await countMissing(env.db)).get(cell.id) ?? 0
const instance = (view: InstanceView): FeedBody => ({ kind: 'instance', view })

test('rows that were never published are requested as soon as a later row arrives', async () => {
  const [a, b] = (await accepted(2)) as [string, string]
  cell.emit([instance(cell.active(a))], 'lost')
  cell.emit([instance(cell.active(b))])

  await applied()

  expect(await env.server(a)).toMatchObject({ vmState: 'active' })
  expect(await env.server(b)).toMatchObject({ vmState: 'active' })
})

test('rows that were never published, with none after them, are asked for after a heartbeat', async () => {
  const [a] = (await accepted(1)) as [string]
  cell.emit([instance(cell.active(a))], 'lost')

  await applied()

  expect(await env.server(a)).toMatchObject({ vmState: 'active' })
})

test('rows that come twice, or in the wrong order, leave the newest view', async () => {
  const [a] = (await accepted(1)) as [string]
  const first = cell.emit([instance(cell.active(a))], 'lost')
  const second = cell.emit(
    [instance(cell.change(a, { vmState: 'stopped', powerState: 4 }))],
    'lost',
  )

  cell.publish(second)
  cell.publish(first)
  cell.publish(first)
  cell.publish(second)
  await applied()

  expect(await env.server(a)).toMatchObject({ vmState: 'stopped', version: 3 })
})

test('an older view after a newer one changes nothing', async () => {
  const [a] = (await accepted(1)) as [string]
  const old = cell.active(a)
  cell.emit([instance(cell.change(a, { vmState: 'stopped' })), instance(old)])

  await applied()

  expect(await env.server(a)).toMatchObject({ vmState: 'stopped', version: 3 })
})

test('a second gateway applies the feed when the first has gone', async () => {
  const other = await env.core()
  await core[Symbol.asyncDispose]()
  core = other
  const [a] = (await accepted(1)) as [string]
  cell.emit([instance(cell.active(a))])

  await applied()

  expect(await env.server(a)).toMatchObject({ vmState: 'active' })
})

test('a gateway whose subscription hears nothing listens again', async () => {
  let subscriptions = 0
  const other = await env.core({
    onBus: (nats) => {
      const subscribe = nats.subscribe.bind(nats)
      nats.subscribe = (subject, options) => {
        if (!subject.endsWith('.feed')) return subscribe(subject, options)
        subscriptions += 1
        return subscribe(subscriptions === 1 ? `${subject}.nowhere` : subject, options)
      }
    },
  })
  await core[Symbol.asyncDispose]()
  core = other
  const [a] = (await accepted(1)) as [string]
  const speak = () => {
    cell.emit([instance(cell.change(a, {}))])
    return subscriptions
  }
  await expect.poll(speak).toBeGreaterThan(1)
  await applied()

  // Without heartbeats and answers only published rows arrive.
  await cell.vanish()
  cell.emit([instance(cell.change(a, { vmState: 'stopped' }))])

  await env.until(a, ({ vmState }) => vmState === 'stopped')
  cell.appear()
})

test('a cell that publishes nonsense fills no log, and what it says besides is applied', async () => {
  const lines: string[] = []
  const to = { write: (line: string) => void lines.push(line) }
  const other = await env.core({ log: createLogger('feed', 'warn', to) })
  await core[Symbol.asyncDispose]()
  core = other
  const [a] = (await accepted(1)) as [string]

  const warnings = () => lines.filter((line) => line.includes('breaks the contract')).length
  const mutter = () => {
    cell.publishText('{"x":1}')
    return warnings()
  }
  await expect.poll(mutter).toBeGreaterThan(0)

  for (let nth = 0; nth < 2_000; nth += 1) mutter()
  cell.emit([instance(cell.active(a))])
  await applied()

  expect(await env.server(a)).toMatchObject({ vmState: 'active' })
  expect(warnings()).toBe(1)
})

test('another incarnation of the cell’s database is copied, and may lower a version', async () => {
  const [a, b] = (await accepted(2)) as [string, string]
  for (const id of [a, b]) cell.active(id)
  cell.emit([instance(cell.change(a, { version: 50 })), instance(cell.change(b, { version: 50 }))])
  await applied()

  cell.views.set(a, { ...cell.views.get(a)!, version: 7, vmState: 'stopped' })
  cell.views.delete(b)
  cell.rows = []
  cell.incarnation = newId()

  const server = await env.until(a, ({ vmState }) => vmState === 'stopped')
  expect(server.version).toBe(7)
  // Only the index has it: no copy may take it away.
  expect(await env.server(b)).toMatchObject({ vmState: 'active', deletedAt: null })
  cell.emit([instance(cell.change(a, { vmState: 'active' }))])
  await env.until(a, ({ vmState, version }) => vmState === 'active' && version === 8)
})

test('a server that a full copy did not contain is no longer missing once its cell reports it', async () => {
  const [a] = (await accepted(1)) as [string]
  cell.emit([instance(cell.active(a))])
  await applied()
  const before = await missingHere()
  const only = { after: a.slice(0, -1), upTo: a, known: [] }
  await env.db.transaction((tx) => markMissing(tx, cell.id, only))
  expect(await missingHere()).toBe(before + 1)

  cell.emit([instance(cell.change(a, { vmState: 'stopped' }))])
  await applied()

  expect(await missingHere()).toBe(before)
})

test('many rows at once are all applied, and the last row of each server counts', async () => {
  const ids = (await Promise.all(Array.from({ length: 20 }, () => accepted(10)))).flat()
  const rows = 3_000
  const stateAt = (index: number) => Math.floor(index / ids.length) % 2
  const bodies = Array.from({ length: rows }, (_, index) =>
    instance(cell.change(ids[index % ids.length]!, { powerState: stateAt(index) })),
  )

  for (let from = 0; from < rows; from += 500) cell.emit(bodies.slice(from, from + 500))
  await applied()

  const found = await Promise.all(ids.map((id) => env.server(id)))
  const last = stateAt(rows - 1)
  expect(found.map((server) => server?.powerState)).toEqual(ids.map(() => last))
})
