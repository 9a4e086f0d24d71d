import { beforeAll, describe, expect, test } from 'vitest'
import { newId, type VolumeId } from '#common/ids.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { AttachmentSpec, VolumeRef, VolumeSwap } from '#drivers/volumes.ts'
import { isFullRun } from '../env/full-run.ts'
import type { VolumesWorld } from './volumes-world.ts'

/** The contract of guests that change a volume for another one while they run, a part of that of volumes. */
export function driverSwapContract(world: VolumesWorld): void {
  const { signal, volumes, newVolume, newGuest, attachment, ready, refused, spawned } = world

  describe('swaps', () => {
    let isThere = false
    const swap = (): VolumeSwap => volumes().swap!
    beforeAll(() => {
      isThere = world.driver.volumes?.swap !== undefined
    })
    const testIf = (name: string, run: () => Promise<void>) =>
      test(name, async ({ skip }) => (isThere ? run() : skip()))
    // A real engine copies bytes, which takes seconds.
    const isLong = () => world.harness.content !== undefined && !isFullRun
    const testLong = (name: string, run: (skip: () => never) => Promise<void>) =>
      test(name, async ({ skip }) => (isThere && !isLong() ? run(skip) : skip()))

    /** A guest with a volume, and another volume with other content. */
    async function prepared(more: Partial<AttachmentSpec> = {}) {
      const [id, from, to] = [await newGuest(), await newVolume(), await newVolume()]
      await world.harness.content?.write(from, 'what the guest has')
      await world.harness.content?.write(to, 'x'.repeat(100_000))
      const had = attachment(from, more)
      const name = await volumes().attach(id, had, signal())
      return { id, from, to, name, had, wanted: { ...had, store: to.store, id: to.id } }
    }
    const isHeld = (volume: VolumeRef) => refused(volumes().destroy(volume, signal()), 'conflict')
    const isFree = (volume: VolumeRef) => volumes().destroy(volume, signal())
    async function expectContentOf(volume: VolumeRef, of: Buffer | undefined): Promise<void> {
      if (of === undefined) return
      const content = await world.harness.content!.read(volume)
      expect(content.subarray(0, of.length).equals(of)).toBe(true)
    }

    testIf(
      'a guest gets the other volume with all bytes, under the same name, for good',
      async () => {
        const { id, from, to, name, wanted } = await prepared({ tag: 'data' })
        const before = await world.harness.content?.read(from)

        for (const _ of [1, 2]) await swap().copy(id, wanted, signal())
        await isHeld(from)
        await isHeld(to)
        for (const _ of [1, 2]) await swap().pivot(id, wanted, signal())
        await swap().copy(id, wanted, signal())

        await isFree(from)
        await isHeld(to)
        await expectContentOf(to, before)
        const states = await world.driver.list(signal())
        expect(states.find((each) => each.id === id)).toMatchObject({ powerState: 'running' })
        await world.driver.reboot(id, 'hard', 0, signal())
        await isHeld(to)
        expect(await volumes().attach(id, wanted, signal())).toBe(name)
        await ready(id)
        await volumes().detach(id, wanted.attachmentId, signal())
        await isFree(to)
      },
    )

    testLong('the volume from which a guest starts is changed for another', async () => {
      const { image } = world.harness
      const [root, to] = [
        await newVolume({ from: { image } }),
        await newVolume({ from: { image } }),
      ]
      await world.harness.content?.write(to, 'x'.repeat(100_000))
      const had = attachment(root, { isRoot: true })
      const spec = { ...instanceSpec(image), volumes: [had] }
      spawned.set(spec.id, world.driver)
      await world.driver.spawn(spec, signal())
      const before = await world.harness.content?.read(root)
      const wanted = { ...had, store: to.store, id: to.id }

      await swap().copy(spec.id, wanted, signal())
      await swap().pivot(spec.id, wanted, signal())

      await isFree(root)
      await expectContentOf(to, before)
      await world.driver.reboot(spec.id, 'hard', 0, signal())
      await isHeld(to)
      await refused(volumes().detach(spec.id, wanted.attachmentId, signal()), 'conflict')
    })

    testLong(
      'a guest takes a larger volume, and goes on in it after a restart of its host',
      async () => {
        const { id, from, had } = await prepared()
        const to = await newVolume({ bytes: 2 * world.unit })
        const before = await world.harness.content?.read(from)
        const wanted = { ...had, id: to.id }
        await swap().copy(id, wanted, signal())

        // The guests of a simulated host are those of one process.
        if (world.harness.content === undefined) await swap().pivot(id, wanted, signal())
        else {
          await using again = await world.harness.open()
          await again.volumes!.swap!.pivot(id, wanted, signal())
        }

        await isFree(from)
        await expectContentOf(to, before)
        await isHeld(to)
        expect(await world.reportOf(to)).toMatchObject({ bytes: to.bytes })
        if (world.lacks('extend-in-use')) return
        await volumes().extend(to, 3 * world.unit, signal())
        await world.driver.reboot(id, 'hard', 0, signal())
        await volumes().extend(to, 4 * world.unit, signal())
        expect(await world.reportOf(to)).toMatchObject({ bytes: 4 * world.unit })
        await expectContentOf(to, before)
      },
    )

    testLong(
      'a guest changes for an encrypted volume whose key is held, and back',
      async (skip) => {
        const { harness, store } = world
        if (!store.encrypts) return skip()
        const { id, from, had } = await prepared()
        const before = await harness.content?.read(from)
        const [to, key] = [world.newRef(), 'a'.repeat(32)]
        const wanted = { ...had, id: to.id }
        const withKey = async (work: () => Promise<unknown>) => {
          const holder = newId<string>()
          await volumes().keys!.hold(holder, [{ id: to.id, key }], signal())
          try {
            await work()
          } finally {
            await volumes().keys!.drop(holder, signal())
          }
        }
        const encryption = { keyBits: 256 } as const
        await withKey(() => volumes().create({ ...to, bytes: world.unit, encryption }, signal()))
        await harness.sealed?.put(to, key, 0x5a)

        await refused(swap().copy(id, wanted, signal()), 'conflict')
        await withKey(() => swap().copy(id, wanted, signal()))
        await withKey(() => swap().pivot(id, wanted, signal()))

        await isFree(from)
        if (harness.sealed !== undefined) {
          const raw = await harness.sealed.raw(to)
          expect(raw.includes(before!.subarray(0, 18))).toBe(false)
        }
        const back = await newVolume()
        await swap().copy(id, { ...had, id: back.id }, signal())
        await swap().pivot(id, { ...had, id: back.id }, signal())
        await isFree(to)
        await expectContentOf(back, before)
        await world.driver.reboot(id, 'hard', 0, signal())
      },
    )

    testIf(
      'a swap that is cancelled leaves the guest its volume, and may begin again',
      async () => {
        const { id, from, to, wanted } = await prepared()
        const before = await world.harness.content?.read(from)
        await swap().copy(id, wanted, signal())

        for (const _ of [1, 2]) await swap().cancel(id, wanted, signal())

        await isHeld(from)
        await expectContentOf(from, before)
        await refused(swap().pivot(id, wanted, signal()), 'conflict')
        await swap().copy(id, wanted, signal())
        await swap().pivot(id, wanted, signal())
        await refused(swap().cancel(id, wanted, signal()), 'conflict')
        await isFree(from)
        await expectContentOf(to, before)
      },
    )

    testLong('a guest that is shut down during the copy keeps its volume', async () => {
      const { id, from, to, wanted } = await prepared()
      await swap().copy(id, wanted, signal())
      await world.driver.stop(id, 0, signal())

      await refused(swap().pivot(id, wanted, signal()), 'conflict')

      await isFree(to)
      await isHeld(from)
      await world.driver.start(id, signal())
      await isHeld(from)
    })

    testLong('a guest that is destroyed during the copy has neither volume', async () => {
      const { id, from, to, wanted } = await prepared()
      await swap().copy(id, wanted, signal())

      await world.driver.destroy(id, signal())

      await swap().cancel(id, wanted, signal())
      for (const each of [from, to]) await isFree(each)
    })

    testLong('what cannot be swapped is refused, and both volumes stay as they are', async () => {
      const { id, from, to, had, wanted } = await prepared()
      const absent = { store: world.store.id, id: newId<VolumeId>() }
      const [small, taken] = [await newVolume({ bytes: world.unit / 4 }), await newVolume()]
      for (const on of [world.driver, world.neighbour]) {
        const other = await newGuest(on)
        const held = attachment(taken)
        await on.volumes!.attach(other, held, signal())
        await refused(swap().copy(id, { ...had, id: taken.id }, signal()), 'conflict')
        await ready(other, on)
        await on.volumes!.detach(other, held.attachmentId, signal())
      }

      const isSmaller = (await world.reportOf(small))!.bytes < from.bytes
      if (isSmaller) await refused(swap().copy(id, { ...had, id: small.id }, signal()), 'invalid')
      await refused(swap().copy(id, { ...had, id: absent.id }, signal()), 'not-found')
      await refused(swap().copy(id, attachment(to), signal()), 'not-found')
      await refused(swap().copy(newId(), wanted, signal()), 'not-found')
      await world.driver.stop(id, 0, signal())
      await refused(swap().copy(id, wanted, signal()), 'conflict')
      await world.driver.start(id, signal())
      await world.driver.suspend!.suspend(id, signal())
      await refused(swap().copy(id, wanted, signal()), 'conflict')
      await world.driver.suspend!.resume(id, signal())

      for (const each of [small, taken, to]) await isFree(each)
      await isHeld(from)
    })
  })
}
