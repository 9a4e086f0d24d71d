import { expect, test } from 'vitest'
import { type InstanceId, newId } from '#common/ids.ts'
import type { Driver, ImageSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'

/** A host, and what a driver's test does beside it. */
export interface AdoptionWorld {
  readonly driver: Driver
  readonly image: ImageSpec
  /** Afterwards an unmanaged guest runs on the backend. */
  readonly plant: () => Promise<InstanceId>
  /** Another owner's driver over the same backend; absent: a backend is one owner's. */
  readonly openOther?: () => Promise<Driver>
}

const OPERATION_MS = 60_000

/** The contract of every driver that adopts guests, run within the suite of each such driver. */
export function adoptionContract(world: () => AdoptionWorld): void {
  test('an unmanaged guest is listed and adopted as it is, and then is as any other', async () => {
    const { driver, image, plant, openOther } = world()
    const adoption = driver.adopt!
    const signal = () => AbortSignal.timeout(OPERATION_MS)
    const listed = async () => (await adoption.unmanagedGuests(signal())).map(({ id }) => id)
    const own = async () => driver.list(signal())
    const mine = instanceSpec(image)
    await driver.spawn(mine, signal())
    const id = await plant()
    const spec = instanceSpec(image, { id, nics: [] })

    expect(await listed()).toEqual([id])
    expect((await own()).map((report) => report.id)).toEqual([mine.id])
    await driver.destroy(id, signal())
    expect(await listed()).toEqual([id])
    for (const _ of [1, 2]) expect(await adoption.adopt(spec, signal())).toBe('running')

    expect(await listed()).toEqual([])
    expect(await own()).toContainEqual({ id, powerState: 'running' })
    if (openOther !== undefined) {
      await using other = await openOther()
      const stealing = other.adopt!.adopt(spec, signal())
      await expect(stealing).rejects.toMatchObject({ kind: 'conflict' })
      expect(await other.list(signal())).toEqual([])
    }
    const missing = adoption.adopt({ ...spec, id: newId() }, signal())
    await expect(missing).rejects.toMatchObject({ kind: 'not-found' })

    await driver.stop(id, 0, signal())
    expect(await own()).toContainEqual({ id, powerState: 'shutdown' })
    await driver.start(id, signal())
    await driver.destroy(id, signal())
    expect(await listed()).toEqual([])
    await driver.destroy(mine.id, signal())
    expect(await own()).toEqual([])
  })
}
