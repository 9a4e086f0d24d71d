import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type InstanceId, newId } from '#common/ids.ts'
import type { DiskImage, Driver, InstanceSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { DriverHarness } from './drivers.contract.ts'

const OPERATION_MS = 60_000

/** The contract of every driver that saves disks in two passes, run by each such driver's own test. */
export function driverChangesContract(name: string, start: () => Promise<DriverHarness>): void {
  describe(`the ${name} driver keeps the contract of changes of disks`, () => {
    let harness: DriverHarness
    let driver: Driver
    const spawned = new Set<InstanceId>()
    const signal = () => AbortSignal.timeout(OPERATION_MS)
    const changes = () => driver.diskChanges!
    const stateOf = async (id: InstanceId) =>
      (await driver.list(signal())).find((report) => report.id === id)?.powerState
    const spawnNew = async (overrides: Partial<InstanceSpec> = {}) => {
      const spec = instanceSpec(harness.image, overrides)
      spawned.add(spec.id)
      await driver.spawn(spec, signal())
      return spec
    }
    const conflict = { kind: 'conflict' }

    beforeAll(async () => {
      harness = await start()
      driver = await harness.open()
    })
    afterEach(async () => {
      for (const id of spawned) {
        await driver.destroy(id, signal())
        expect(await harness.leftovers(id)).toEqual([])
      }
      spawned.clear()
    })
    afterAll(async () => {
      await driver?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
    })

    test.each(['running', 'paused'] as const)(
      'a guest that is %s is saved in two images, which boot together',
      async (state) => {
        const { id } = await spawnNew()
        if (state === 'paused') await driver.pause!.pause(id, signal())
        const first = await contentOf(await changes().begin(id, signal()))
        expect(await stateOf(id)).toBe(state)
        if (state === 'paused') await driver.pause!.unpause(id, signal())
        await driver.stop(id, 0, signal())

        for (const _ of [1, 2]) await contentOf(await changes().take(id, signal()))
        const second = await contentOf(await changes().take(id, signal()))

        expect(await stateOf(id)).toBe('shutdown')
        const image = {
          ...harness.shelve(first.content, first.diskFormat),
          changes: harness.shelve(second.content, second.diskFormat),
        }
        const copy = await spawnNew({ image })
        expect(await stateOf(copy.id)).toBe('running')
        await driver.start(id, signal())
        expect(await stateOf(id)).toBe('running')
      },
    )

    test('what is written is noted from the newest beginning on, over stops and starts, until it is forgotten', async () => {
      const { id } = await spawnNew()
      for (const _ of [1, 2]) await contentOf(await changes().begin(id, signal()))
      await driver.stop(id, 0, signal())
      await driver.start(id, signal())
      await driver.stop(id, 0, signal())
      await contentOf(await changes().take(id, signal()))

      for (const _ of [1, 2]) await changes().forget(id, signal())
      await expect(changes().take(id, signal())).rejects.toMatchObject(conflict)
      await driver.start(id, signal())
      await contentOf(await changes().begin(id, signal()))
      for (const _ of [1, 2]) await changes().forget(id, signal())
      await driver.stop(id, 0, signal())
      await expect(changes().take(id, signal())).rejects.toMatchObject(conflict)
    })

    test('a beginning that is called off leaves nothing noted, and the guest running', async () => {
      const { id } = await spawnNew()
      const late = new AbortController()
      const begun = changes().begin(id, late.signal)
      late.abort(new Error('called off'))
      await expect(begun).rejects.toThrow()

      expect(await stateOf(id)).toBe('running')
      await driver.stop(id, 0, signal())
      await expect(changes().take(id, signal())).rejects.toMatchObject(conflict)
    })

    test('a guest that is off has no first pass, one that runs no second, and an absent one neither', async () => {
      const { id } = await spawnNew()
      await contentOf(await changes().begin(id, signal()))
      await expect(changes().take(id, signal())).rejects.toMatchObject(conflict)
      await driver.stop(id, 0, signal())
      await expect(changes().begin(id, signal())).rejects.toMatchObject(conflict)

      const absent = { kind: 'not-found' }
      const none = newId<InstanceId>()
      await expect(changes().begin(none, signal())).rejects.toMatchObject(absent)
      await expect(changes().take(none, signal())).rejects.toMatchObject(absent)
      await expect(changes().forget(none, signal())).rejects.toMatchObject(absent)
    })
  })
}

/** The content of the image, which is given up. */
async function contentOf(disk: DiskImage) {
  const chunks = []
  for await (const chunk of disk.content()) chunks.push(chunk)
  await disk[Symbol.asyncDispose]()
  const content = Buffer.concat(chunks)
  expect(content).toHaveLength(disk.sizeBytes)
  return { content, diskFormat: disk.diskFormat }
}
