import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { workContext } from '#common/context.ts'
import { newId } from '#common/ids.ts'
import type { VolumeCarry } from '#drivers/volumes.ts'
import { MOVE_BYTES_MAX } from '#openapi/wire/host.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { StoreMoveCell } from '#test/env/store-move-cell.ts'
import type { TestHost } from '#test/env/test-cell.ts'
import { carryCopy } from './carry-volume.ts'

// Goal: a copy of any size gets to the other host byte by byte, also where hosts answer late, and what has come once does not
// come again after an answer was lost.

const PARTS = 16
const SHORT_OF_PART = 1_000
const content = randomBytes(PARTS * MOVE_BYTES_MAX - SHORT_OF_PART)
const signal = AbortSignal.timeout(120_000)
let world: StoreMoveCell

beforeAll(async () => {
  world = await StoreMoveCell.start('carry_volume')
})
afterEach(() => {
  world.clearFaults()
  vi.restoreAllMocks()
})
afterAll(() => world?.[Symbol.asyncDispose]())

const carryOf = ({ driver }: TestHost): VolumeCarry => driver.volumes!.carry!

/** A copy that the first host has. */
async function packed(): Promise<string> {
  const copy = newId<string>()
  await carryOf(world.here).write(copy, 0, content, signal)
  return copy
}

function carried(copy: string, isWanted = async () => true) {
  const [from, to] = [world.here.id, world.there.id]
  const work = workContext({})
  return carryCopy(world.running.cell.conductor, { copy, from, to, work, signal, isWanted })
}

async function expectThere(copy: string): Promise<void> {
  const whole = { offset: 0, maxBytes: content.length + 1 }
  const { bytes } = await carryOf(world.there).read(copy, whole, signal)
  expect(Buffer.compare(bytes, content)).toBe(0)
}

/** Where the parts begin that the host was asked to write from now on; under load it may be asked twice for one. */
function partsWritten() {
  const spy = vi.spyOn(carryOf(world.there), 'write')
  return () => [...new Set(spy.mock.calls.map(([, at]) => at))]
}

test('a copy gets to the other host byte by byte', async () => {
  const copy = await packed()

  expect(await carried(copy)).toEqual({ outcome: 'done', sizeBytes: content.length })

  await expectThere(copy)
})

test('a repeat goes on where an answer was lost', async () => {
  const copy = await packed()
  const effect = { do: 'fail', kind: 'unavailable', message: 'It does not answer.' } as const
  const fault = { method: 'writeVolumeCopy', after: PARTS - 2, times: 1, effect } as const
  world.there.driver.faults.set([fault])
  await expect(carried(copy)).rejects.toMatchObject({ kind: 'unavailable' })
  const written = partsWritten()

  expect(await carried(copy)).toMatchObject({ outcome: 'done' })

  await expectThere(copy)
  expect(written().length).toBeLessThan(PARTS)
  expect(written()).not.toContain(0)
})

test('parts that come before an earlier one do not hide that it is missing', async () => {
  const copy = await packed()
  const there = carryOf(world.there)
  const write = there.write.bind(there)
  const lost = 9 * MOVE_BYTES_MAX
  const spy = vi.spyOn(there, 'write').mockImplementation(async (...args) => {
    if (args[1] === lost) {
      // The parts behind it that may be on their way are there first.
      await vi.waitFor(async () => expect(spy.mock.calls.at(-1)![1]).toBeGreaterThan(lost))
      throw new Error('The host dies.')
    }
    return write(...args)
  })
  const first = await carried(copy).catch((error: unknown) => error)
  expect(first).not.toMatchObject({ outcome: 'done' })
  spy.mockRestore()

  expect(await carried(copy)).toMatchObject({ outcome: 'done' })

  await expectThere(copy)
})

test('a host that answers late holds up no more than its own part', async () => {
  const copy = await packed()
  const there = carryOf(world.there)
  const write = there.write.bind(there)
  // A part may be asked for twice.
  const atOnce = new Set<number>()
  let most = 0
  vi.spyOn(there, 'write').mockImplementation(async (...args) => {
    atOnce.add(args[1])
    most = Math.max(most, atOnce.size)
    if (args[1] > 0) await vi.waitFor(() => expect(most).toBeGreaterThan(1), { timeout: 5_000 })
    atOnce.delete(args[1])
    return write(...args)
  })

  expect(await carried(copy)).toMatchObject({ outcome: 'done' })

  await expectThere(copy)
})

test.skipIf(!isFullRun)('a copy that is wanted no more does not come whole', async () => {
  const copy = newId<string>()
  const long = Buffer.alloc(70 * MOVE_BYTES_MAX)
  await carryOf(world.here).write(copy, 0, long, signal)

  expect(await carried(copy, async () => false)).toEqual({ outcome: 'unwanted' })

  const { sizeBytes } = await carryOf(world.there).read(copy, { offset: 0, maxBytes: 1 }, signal)
  expect(sizeBytes).toBeLessThan(long.length)
})
