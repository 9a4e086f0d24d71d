import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type InstanceId, newId } from '#common/ids.ts'
import type { DiskImage, Driver, FlavorSpec, InstanceSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { DriverHarness } from './drivers.contract.ts'

const OPERATION_MS = 60_000
const HOW = { runs: true, graceMs: 0 }

/** The contract of every driver that can snapshot, rebuild and resize, run by each such driver's own test. */
export function driverDisksContract(name: string, start: () => Promise<DriverHarness>): void {
  describe(`the ${name} driver keeps the contract of disks`, () => {
    let harness: DriverHarness
    let driver: Driver
    const spawned = new Set<InstanceId>()
    const signal = () => AbortSignal.timeout(OPERATION_MS)
    const stateOf = async (id: InstanceId) =>
      (await driver.list(signal())).find((report) => report.id === id)?.powerState
    const spawnNew = async (overrides: Partial<InstanceSpec> = {}) => {
      const spec = instanceSpec(harness.image, overrides)
      spawned.add(spec.id)
      await driver.spawn(spec, signal())
      return spec
    }
    const withFlavor = (spec: InstanceSpec, flavor: Partial<FlavorSpec>) => ({
      ...spec,
      flavor: { ...spec.flavor, ...flavor },
    })

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

    test.each(['running', 'paused', 'shutdown'] as const)(
      'a snapshot of a guest that is %s can be booted, and leaves the guest as it was',
      async (state) => {
        const spec = await spawnNew()
        if (state === 'paused') await driver.pause!.pause(spec.id, signal())
        if (state === 'shutdown') await driver.stop(spec.id, 0, signal())

        const disk = await driver.snapshot!.take(spec.id, signal())

        const content = await contentOf(disk)
        await disk[Symbol.asyncDispose]()
        expect(content).toHaveLength(disk.sizeBytes)
        expect(await stateOf(spec.id)).toBe(state)
        const copy = await spawnNew({ image: harness.shelve(content, disk.diskFormat) })
        expect(await stateOf(copy.id)).toBe('running')
      },
    )

    test('a second snapshot replaces the remains of an interrupted one', async () => {
      const { id } = await spawnNew()
      await driver.snapshot!.take(id, signal())

      await using disk = await driver.snapshot!.take(id, signal())

      expect(await contentOf(disk)).toHaveLength(disk.sizeBytes)
    })

    test('the content of a snapshot can move to a file, which neither its end nor another snapshot changes', async ({
      skip,
    }) => {
      const { id } = await spawnNew()
      const disk = await driver.snapshot!.take(id, signal())
      if (disk.moveTo === undefined) {
        await disk[Symbol.asyncDispose]()
        return skip()
      }
      const folder = await mkdtemp(join(tmpdir(), 'snapshot-'))
      const file = join(folder, 'disk')
      try {
        const content = await contentOf(disk)

        await disk.moveTo(file)

        await disk[Symbol.asyncDispose]()
        await using _another = await driver.snapshot!.take(id, signal())
        expect(await readFile(file)).toEqual(content)
      } finally {
        await rm(folder, { recursive: true })
      }
    })

    test.each([true, false])('a rebuild that ends with power %s may be repeated', async (runs) => {
      const spec = await spawnNew()
      const rebuilt = { ...spec, displayName: 'anew', configDrive: { file: Buffer.from('x') } }
      const how = { keepsEphemeral: false, runs }

      await driver.rebuild!.rebuild(rebuilt, how, signal())
      await driver.rebuild!.rebuild(rebuilt, how, signal())

      expect(await stateOf(spec.id)).toBe(runs ? 'running' : 'shutdown')
      expect(await driver.list(signal())).toHaveLength(1)
    })

    test('a rebuild from an image that cannot be used leaves the guest as it was', async () => {
      const spec = await spawnNew()
      const how = { keepsEphemeral: false, runs: true }
      for (const image of Object.values(harness.refused))
        await expect(
          driver.rebuild!.rebuild({ ...spec, image }, how, signal()),
        ).rejects.toMatchObject({ kind: 'invalid' })

      expect(await stateOf(spec.id)).toBe('running')
    })

    test('a resize may be repeated, reverted, done again and confirmed, each more than once', async () => {
      const spec = await spawnNew()
      const larger = withFlavor(spec, { name: 'larger', vcpus: 2, memoryMb: 192, rootGb: 2 })
      const resize = driver.resize!

      for (const _ of [1, 2]) await resize.resize(larger, HOW, signal())
      expect(await stateOf(spec.id)).toBe('running')
      for (const _ of [1, 2]) await resize.revert(spec, HOW, signal())
      expect(await stateOf(spec.id)).toBe('running')
      await resize.resize(larger, { ...HOW, runs: false }, signal())
      expect(await stateOf(spec.id)).toBe('shutdown')
      for (const _ of [1, 2]) await resize.confirm(spec.id, signal())
      await driver.start(spec.id, signal())

      const smaller = resize.resize(spec, HOW, signal())
      await expect(smaller).rejects.toMatchObject({ kind: 'invalid', message: /disk down/ })
      expect(await stateOf(spec.id)).toBe('running')
    })

    test('a resize over one that was neither confirmed nor reverted goes back to the disks from between the two', async () => {
      const spec = await spawnNew()
      const [second, third] = [2, 3].map((rootGb) =>
        withFlavor(spec, { id: `gb-${rootGb}`, name: `gb-${rootGb}`, rootGb }),
      )
      const resize = driver.resize!
      await resize.resize(second!, HOW, signal())
      await resize.resize(third!, HOW, signal())

      await resize.revert(second!, HOW, signal())

      const smaller = resize.resize(spec, HOW, signal())
      const diskDown = { kind: 'invalid', message: expect.stringContaining('disk down') }
      await expect(smaller).rejects.toMatchObject(diskDown)
      expect(await stateOf(spec.id)).toBe('running')
    })

    test('work on the disks of an absent instance is not-found', async () => {
      const absent = { kind: 'not-found' }
      const spec = instanceSpec(harness.image, { id: newId() })
      const how = { keepsEphemeral: false, runs: true }

      await expect(driver.snapshot!.take(spec.id, signal())).rejects.toMatchObject(absent)
      await expect(driver.rebuild!.rebuild(spec, how, signal())).rejects.toMatchObject(absent)
      await expect(driver.resize!.resize(spec, HOW, signal())).rejects.toMatchObject(absent)
      await expect(driver.resize!.confirm(spec.id, signal())).rejects.toMatchObject(absent)
      await expect(driver.resize!.revert(spec, HOW, signal())).rejects.toMatchObject(absent)
    })
  })
}

async function contentOf(disk: DiskImage): Promise<Buffer> {
  const chunks = []
  for await (const chunk of disk.content()) chunks.push(chunk)
  return Buffer.concat(chunks)
}
