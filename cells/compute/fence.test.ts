import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operationOn, sampleBuild } from '#test/env/sample-build.ts'
import { testServices } from '#test/env/services.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../context.ts'

// Goal: guests stop where no gateway is, start again when one is, and a compute that starts meanwhile knows both.

const FENCE_AFTER_S = 3

let cell: TestCell
let running: RunningCell
let host: TestHost
let stateDirectory: string

beforeAll(async () => {
  stateDirectory = mkdtempSync(join((await testServices()).directory, 'fence-'))
  cell = await testCell('fence')
  running = await cell.addProcess('one', { fenceAfterS: FENCE_AFTER_S })
  host = await cell.addHost({ name: 'host', stateDirectory })
  await cell.waitForHosts(running, 1)
})

afterAll(() => cell?.[Symbol.asyncDispose]())

/** Any question of a gateway is a contact. */
const beInTouch = () =>
  cell.ask('feed.read', { incarnation: running.cell.incarnation, after: 0, limit: 1 })

const powerOf = async (of: TestHost) =>
  (await of.driver.list(AbortSignal.timeout(5_000))).map(({ powerState }) => powerState)

test('guests stop once no gateway is in touch, and start again once one is', async () => {
  const operation = operationOn()
  await cell.ask('instance.build', { operation, build: sampleBuild() })
  await cell.waitForFeed('instance', ({ view }) => view.vmState === 'active')

  await expect.poll(() => powerOf(host)).toEqual(['shutdown'])
  // A direct request to the host is refused, also after a new start.
  await host[Symbol.asyncDispose]()
  host = await cell.addHost({ name: 'host', id: host.id, stateDirectory })
  expect(await powerOf(host)).toEqual(['shutdown'])

  await beInTouch()
  const touching = setInterval(() => void beInTouch(), 500)
  try {
    await expect.poll(() => powerOf(host)).toEqual(['running'])
  } finally {
    clearInterval(touching)
  }
})

test('a host that was to stop its guests learns that it need not any more, however late the contact comes', async () => {
  await using other = await testCell('unfenced')
  const process = await other.addProcess('one', { fenceAfterS: 0 })
  const fenced = { contactAt: Date.now(), fenceAfterMs: 60_000, ended: [] }
  const comes = async (name: string) => {
    const directory = mkdtempSync(join((await testServices()).directory, 'fence-'))
    const file = join(directory, 'fence')
    writeFileSync(file, JSON.stringify(fenced))
    await other.addHost({ name, stateDirectory: directory })
    const kept = async () => {
      await other.ask('feed.read', { incarnation: process.cell.incarnation, after: 0, limit: 1 })
      return JSON.parse(readFileSync(file, 'utf8')) as object
    }
    await expect.poll(kept, { interval: 200 }).toMatchObject({ fenceAfterMs: 0 })
  }

  await comes('early')
  await comes('late')
})
