import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type InstanceId, newId } from '#common/ids.ts'
import type { Driver, InstanceSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { DriverHarness } from './drivers.contract.ts'

const OPERATION_MS = 60_000
const CHUNK_BYTES = 256 * 1024

/**
 * The contract of every driver that carries instances between hosts. `start` is called for each of two hosts. `sample`:
 * only a running guest is moved.
 */
export function driverMovesContract(
  name: string,
  start: () => Promise<DriverHarness>,
  extent: 'all' | 'sample' = 'all',
): void {
  const further = test.skipIf(extent === 'sample')
  describe(`the ${name} driver keeps the contract of moves`, () => {
    let harnesses: readonly [DriverHarness, DriverHarness]
    let source: Driver
    let dest: Driver
    const known = new Set<InstanceId>()
    const signal = () => AbortSignal.timeout(OPERATION_MS)
    const stateOn = async (driver: Driver, id: InstanceId) =>
      (await driver.list(signal())).find((report) => report.id === id)?.powerState
    const spawnNew = async () => {
      const spec = instanceSpec(harnesses[0].image, {
        configDrive: { 'openstack/latest/meta_data.json': Buffer.from('{}') },
      })
      known.add(spec.id)
      await source.spawn(spec, signal())
      return spec
    }
    const carry = async ({ id }: InstanceSpec) => {
      for (const { name: file, sizeBytes } of await source.move!.files(id, signal()))
        for (let offset = 0; offset < sizeBytes; offset += CHUNK_BYTES) {
          const part = { name: file, offset, maxBytes: CHUNK_BYTES }
          const bytes = await source.move!.read(id, part, signal())
          await dest.move!.write(id, { name: file, offset }, bytes, signal())
        }
    }

    beforeAll(async () => {
      harnesses = [await start(), await start()]
      ;[source, dest] = [await harnesses[0].open(), await harnesses[1].open()]
    }, 120_000)
    afterEach(async () => {
      for (const id of known) {
        for (const driver of [source, dest]) await driver.destroy(id, signal())
        for (const harness of harnesses) expect(await harness.leftovers(id)).toEqual([])
      }
      known.clear()
    })
    afterAll(async () => {
      for (const driver of [source, dest]) await driver?.[Symbol.asyncDispose]()
      for (const harness of harnesses ?? []) await harness[Symbol.asyncDispose]()
    })

    test.each(extent === 'sample' ? [true] : [true, false])(
      'a guest that is packed and carried arrives with a larger disk; it runs: %s',
      async (runs) => {
        const spec = await spawnNew()
        const flavor = { ...spec.flavor, name: 'larger', rootGb: spec.flavor.rootGb + 1 }

        for (const _ of [1, 2]) await source.move!.pack(spec.id, 0, signal())
        expect(await stateOn(source, spec.id)).toBe('shutdown')
        await carry(spec)
        for (const _ of [1, 2]) await dest.move!.arrive({ ...spec, flavor }, runs, signal())

        expect(await stateOn(dest, spec.id)).toBe(runs ? 'running' : 'shutdown')
        await dest.start(spec.id, signal())
        expect(await stateOn(dest, spec.id)).toBe('running')
        await dest.destroy(spec.id, signal())
        for (const _ of [1, 2]) await source.move!.unpack(spec.id, true, signal())
        expect(await stateOn(source, spec.id)).toBe('running')
      },
    )

    further(
      'what would shrink, and what has not come, does not arrive and leaves nothing',
      async () => {
        const spec = await spawnNew()
        await source.move!.pack(spec.id, 0, signal())
        await carry(spec)
        const flavor = { ...spec.flavor, rootGb: spec.flavor.rootGb + 1 }
        await dest.move!.arrive({ ...spec, flavor }, false, signal())
        await source.destroy(spec.id, signal())
        const smaller = dest.resize!.resize(spec, { runs: false, graceMs: 0 }, signal())
        await expect(smaller).rejects.toMatchObject({ kind: 'invalid' })

        const absent = instanceSpec(harnesses[0].image, { id: newId() })
        known.add(absent.id)
        const arriving = dest.move!.arrive(absent, true, signal())
        await expect(arriving).rejects.toMatchObject({ kind: 'not-found' })
        expect(await harnesses[1].leftovers(absent.id)).toEqual([])
        const other = { name: 'passwd', offset: 0 }
        const writing = dest.move!.write(absent.id, other, Buffer.from('x'), signal())
        await expect(writing).rejects.toMatchObject({ kind: 'invalid' })
      },
    )

    test.each(extent === 'sample' ? (['running'] as const) : (['running', 'paused'] as const))(
      'a guest that is %s goes over as it is, and its former host can lose it',
      async (state) => {
        const spec = await spawnNew()
        if (state === 'paused') await source.pause!.pause(spec.id, signal())
        const from = source.liveMove!
        const to = dest.liveMove!

        const announced = await from.announce(spec.id, signal())
        await carry(spec)
        const expected = await to.expect(spec, announced, signal())
        for (const _ of [1, 2]) await from.send(spec.id, expected, signal())
        for (const _ of [1, 2]) await to.finish(spec, state === 'running', signal())

        expect(await stateOn(dest, spec.id)).toBe(state)
        expect(await stateOn(source, spec.id)).toBe('shutdown')
        await source.destroy(spec.id, signal())
        expect(await harnesses[0].leftovers(spec.id)).toEqual([])
        expect(await stateOn(dest, spec.id)).toBe(state)
        await dest.reboot(spec.id, 'hard', 0, signal())
        expect(await stateOn(dest, spec.id)).toBe('running')
      },
    )

    further(
      'a guest that is off is not announced, and one that is expected and does not come leaves nothing',
      async () => {
        const spec = await spawnNew()
        const announced = await source.liveMove!.announce(spec.id, signal())
        await dest.liveMove!.expect(spec, announced, signal())

        await source.stop(spec.id, 0, signal())

        const again = source.liveMove!.announce(spec.id, signal())
        await expect(again).rejects.toMatchObject({ kind: 'conflict' })
        expect(await stateOn(dest, spec.id)).toBeUndefined()
      },
    )

    further.each([true, false])(
      'an evacuated instance is made again; it runs: %s',
      async (runs) => {
        const spec = instanceSpec(harnesses[1].image)
        known.add(spec.id)

        for (const _ of [1, 2]) await dest.move!.evacuate(spec, { runs }, signal())

        expect(await stateOn(dest, spec.id)).toBe(runs ? 'running' : 'shutdown')
      },
    )
  })
}
