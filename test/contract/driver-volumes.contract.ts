import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  type AttachmentId,
  type InstanceId,
  newId,
  type VolumeId,
  type VolumeSnapshotId,
} from '#common/ids.ts'
import type { Driver } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { AttachmentSpec, StoreReport, VolumeRef, VolumeSpec } from '#drivers/volumes.ts'
import type { DriverHarness } from './drivers.contract.ts'

/** The world of a driver with volumes: `open` gives a host that reaches one store, which other hosts reach, too. */
export interface VolumesHarness extends DriverHarness {
  /** Another host of the same cell, over the same store. */
  openNeighbour(): Promise<Driver>
  /** A host of another cell, over the same store. */
  openOtherCell(): Promise<Driver>
  /** Leaves what a host leaves in the store that dies while it makes the volume. */
  leaveHalf(volume: VolumeRef): Promise<void>
  /** The names in the store that are about the volume. */
  volumeLeftovers(id: VolumeId): Promise<readonly string[]>
  /** What a volume holds; absent: volumes have no content. */
  readonly content?: {
    read(volume: VolumeRef): Promise<Buffer>
    write(volume: VolumeRef, start: string): Promise<void>
  }
  /** False: guests that run do not release a disk. */
  readonly guestsRelease: boolean
}

const OPERATION_MS = 60_000
const MIB = 1024 ** 2

/** The contract of every driver with volumes, run by each such driver's own test. */
export function driverVolumesContract(name: string, start: () => Promise<VolumesHarness>): void {
  describe(`the ${name} driver keeps the contract of volumes`, () => {
    let harness: VolumesHarness
    let driver: Driver
    let neighbour: Driver
    let store: StoreReport
    const spawned = new Map<InstanceId, Driver>()
    const made: VolumeRef[] = []
    const signal = () => AbortSignal.timeout(OPERATION_MS)
    const volumes = () => driver.volumes!
    const reportOf = async ({ id }: VolumeRef) =>
      (await volumes().list(store.id, signal())).find((report) => report.id === id)
    const newRef = (): VolumeRef => {
      const ref = { store: store.id, id: newId<VolumeId>() }
      made.push(ref)
      return ref
    }
    const newVolume = async (more: Partial<VolumeSpec> = {}) => {
      const spec = { ...newRef(), bytes: 4 * MIB, ...more }
      await volumes().create(spec, signal())
      return spec
    }
    const newGuest = async (on = driver) => {
      const spec = instanceSpec(harness.image)
      spawned.set(spec.id, on)
      await on.spawn(spec, signal())
      return spec.id
    }
    const attachment = (
      { store, id }: VolumeRef,
      more: Partial<AttachmentSpec> = {},
    ): AttachmentSpec => {
      const attachmentId = newId<AttachmentId>()
      return { store, id, attachmentId, isReadOnly: false, isShared: false, ...more }
    }
    const ready = async (id: InstanceId, on = driver) => {
      if (!harness.guestsRelease) await on.stop(id, 0, signal())
    }
    const refused = (work: Promise<unknown>, kind: string) =>
      expect(work).rejects.toMatchObject({ kind })

    beforeAll(async () => {
      harness = await start()
      driver = await harness.open()
      neighbour = await harness.openNeighbour()
      store = (await volumes().stores(signal()))[0]!
    }, 120_000)
    afterEach(async () => {
      for (const [id, on] of spawned) {
        await on.destroy(id, signal())
        expect(await harness.leftovers(id)).toEqual([])
      }
      spawned.clear()
      for (const ref of made.toReversed()) {
        const { snapshots = [] } = (await reportOf(ref)) ?? {}
        for (const each of snapshots) await volumes().destroySnapshot(ref, each, signal())
        await volumes().destroy(ref, signal())
        expect(await harness.volumeLeftovers(ref.id)).toEqual([])
      }
      made.length = 0
    })
    afterAll(async () => {
      await driver?.[Symbol.asyncDispose]()
      await neighbour?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
    })

    describe('stores', () => {
      test('a store is the same on every host that reaches it, and after a restart', async () => {
        await using again = await harness.open()
        const same = { id: store.id, engine: store.engine, totalBytes: store.totalBytes }

        expect(store.freeBytes).toBeLessThanOrEqual(store.totalBytes)
        expect(await again.volumes!.stores(signal())).toMatchObject([same])
        expect(await neighbour.volumes!.stores(signal())).toMatchObject([same])
      })

      test('a store that there is not is not-found', async () => {
        const ref = { store: newId<string & VolumeId>(), id: newId<VolumeId>() }
        const spec = { ...ref, bytes: MIB }

        await refused(volumes().list(ref.store, signal()), 'not-found')
        await refused(volumes().create(spec, signal()), 'not-found')
      })
    })

    describe('volumes', () => {
      test('create() twice makes one volume of that size, which another host sees', async () => {
        const spec = await newVolume()

        await volumes().create(spec, signal())

        const report = { id: spec.id, bytes: spec.bytes, snapshots: [] }
        expect(await volumes().list(store.id, signal())).toEqual([report])
        expect(await neighbour.volumes!.list(store.id, signal())).toEqual([report])
        if (harness.content !== undefined)
          expect(await harness.content.read(spec)).toEqual(Buffer.alloc(spec.bytes))
      })

      test('a half-made volume is not listed, and is made again', async () => {
        const spec = { ...newRef(), bytes: 4 * MIB }
        await harness.leaveHalf(spec)
        expect(await reportOf(spec)).toBeUndefined()

        await volumes().create(spec, signal())

        expect(await reportOf(spec)).toMatchObject({ bytes: spec.bytes })
        expect(await harness.volumeLeftovers(spec.id)).toHaveLength(1)
      })

      test('a half-made volume can be destroyed', async () => {
        const ref = newRef()
        await harness.leaveHalf(ref)

        await volumes().destroy(ref, signal())

        expect(await harness.volumeLeftovers(ref.id)).toEqual([])
      })

      test('a volume larger than its store is refused and leaves nothing', async () => {
        const spec = { ...newRef(), bytes: store.totalBytes + 1024 * MIB }

        await refused(volumes().create(spec, signal()), 'no-capacity')

        expect(await harness.volumeLeftovers(spec.id)).toEqual([])
      })

      test('destroy() of an absent volume, and destroying twice, change nothing', async () => {
        const [spec, other] = [await newVolume(), await newVolume()]

        for (const _ of [1, 2]) await volumes().destroy(spec, signal())
        await volumes().destroy({ store: store.id, id: newId<VolumeId>() }, signal())

        expect(await volumes().list(store.id, signal())).toMatchObject([{ id: other.id }])
      })

      test('a host of another cell neither lists nor destroys it', async () => {
        const spec = await newVolume()
        await using other = await harness.openOtherCell()

        expect(await other.volumes!.list(store.id, signal())).toEqual([])
        await other.volumes!.destroy(spec, signal())

        expect(await reportOf(spec)).toBeDefined()
      })

      test('extend() may be repeated and never shrinks', async () => {
        const spec = await newVolume()
        await harness.content?.write(spec, 'kept')

        for (const mib of [8, 8, 2]) await volumes().extend(spec, mib * MIB, signal())

        expect(await reportOf(spec)).toMatchObject({ bytes: 8 * MIB })
        if (harness.content !== undefined)
          expect((await harness.content.read(spec)).toString('utf8', 0, 4)).toBe('kept')
      })

      test('extend() beyond the store is refused, and of an absent volume not-found', async () => {
        const spec = await newVolume()
        const absent = { store: store.id, id: newId<VolumeId>() }

        const tooMuch = store.totalBytes + 1024 * MIB
        await refused(volumes().extend(spec, tooMuch, signal()), 'no-capacity')
        await refused(volumes().extend(absent, MIB, signal()), 'not-found')

        expect(await reportOf(spec)).toMatchObject({ bytes: spec.bytes })
      })
    })

    describe('sources', () => {
      test('a volume made from an image has its content, and at least its size', async () => {
        const { image } = harness

        const small = await newVolume({ from: { image }, bytes: 1 })
        const large = await newVolume({ from: { image }, bytes: 8 * MIB })

        expect((await reportOf(small))!.bytes).toBeGreaterThanOrEqual(image.sizeBytes)
        expect(await reportOf(large)).toMatchObject({ bytes: 8 * MIB })
      })

      test('a volume made from a volume has its content, and lives on without it', async () => {
        const source = await newVolume()
        await harness.content?.write(source, 'source')

        const copy = await newVolume({ from: { volume: source.id }, bytes: 8 * MIB })
        await volumes().destroy(source, signal())

        expect(await reportOf(copy)).toMatchObject({ bytes: 8 * MIB })
        if (harness.content !== undefined)
          expect((await harness.content.read(copy)).toString('utf8', 0, 6)).toBe('source')
      })

      test('a snapshot holds one moment, may be repeated, and is a source', async () => {
        const source = await newVolume()
        const snapshot = newId<VolumeSnapshotId>()
        await harness.content?.write(source, 'before')

        await volumes().snapshot(source, snapshot, signal())
        await harness.content?.write(source, 'after!')
        await volumes().snapshot(source, snapshot, signal())
        const copy = await newVolume({ from: { volume: source.id, snapshot } })

        expect(await reportOf(source)).toMatchObject({ snapshots: [snapshot] })
        await refused(volumes().destroy(source, signal()), 'conflict')
        for (const _ of [1, 2]) await volumes().destroySnapshot(source, snapshot, signal())
        expect(await reportOf(source)).toMatchObject({ snapshots: [] })
        expect(await reportOf(copy)).toMatchObject({ bytes: copy.bytes })
        if (harness.content !== undefined)
          expect((await harness.content.read(copy)).toString('utf8', 0, 6)).toBe('before')
      })

      test('a source that there is not is not-found and leaves nothing', async () => {
        const volume = newId<VolumeId>()
        const { id } = await newVolume()
        const snapshot = newId<VolumeSnapshotId>()
        for (const from of [{ volume }, { volume, snapshot }, { volume: id, snapshot }]) {
          const spec = { ...newRef(), bytes: MIB, from }

          await refused(volumes().create(spec, signal()), 'not-found')

          expect(await harness.volumeLeftovers(spec.id)).toEqual([])
        }
        const absent = { store: store.id, id: volume }
        await refused(volumes().snapshot(absent, snapshot, signal()), 'not-found')
      })
    })

    describe('attachments', () => {
      test('attach() may be repeated and survives a stop, a start and a reboot; detach() too', async () => {
        const [id, volume] = [await newGuest(), await newVolume()]
        const wanted = attachment(volume)

        const name = await volumes().attach(id, wanted, signal())
        expect(name).toMatch(/^\/dev\/vd[b-z]$/)
        await driver.stop(id, 0, signal())
        await driver.start(id, signal())
        await driver.reboot(id, 'hard', 0, signal())

        expect(await volumes().attach(id, wanted, signal())).toBe(name)
        await refused(volumes().destroy(volume, signal()), 'conflict')
        await refused(neighbour.volumes!.destroy(volume, signal()), 'conflict')
        await ready(id)
        for (const _ of [1, 2]) await volumes().detach(id, wanted.attachmentId, signal())
        await volumes().destroy(volume, signal())
      })

      test('volumes of one guest have names of their own, also of a guest that is off', async () => {
        const id = await newGuest()
        const first = attachment(await newVolume())
        const second = attachment(await newVolume(), { isReadOnly: true, tag: 'data' })

        const names = [await volumes().attach(id, first, signal())]
        await driver.stop(id, 0, signal())
        names.push(await volumes().attach(id, second, signal()))
        await driver.start(id, signal())

        expect(new Set(names).size).toBe(2)
      })

      test('a second guest gets a volume only if both share it, on whichever host', async () => {
        const [one, two] = [await newGuest(), await newGuest()]
        const elsewhere = await newGuest(neighbour)
        const volume = await newVolume()
        const first = attachment(volume)
        await volumes().attach(one, first, signal())

        for (const isShared of [false, true]) {
          const wanted = attachment(volume, { isShared })
          await refused(volumes().attach(two, wanted, signal()), 'conflict')
          await refused(neighbour.volumes!.attach(elsewhere, wanted, signal()), 'conflict')
        }

        await ready(one)
        await volumes().detach(one, first.attachmentId, signal())
        await driver.start(one, signal())
        const shared = () => attachment(volume, { isShared: true })
        await volumes().attach(one, shared(), signal())
        await volumes().attach(two, shared(), signal())
        await neighbour.volumes!.attach(elsewhere, shared(), signal())
      })

      test('attachments end with their instance, and volumes stay', async () => {
        const [id, volume] = [await newGuest(), await newVolume()]
        await volumes().attach(id, attachment(volume), signal())

        await driver.destroy(id, signal())

        expect(await reportOf(volume)).toMatchObject({ bytes: volume.bytes })
        const other = await newGuest(neighbour)
        await neighbour.volumes!.attach(other, attachment(volume), signal())
      })

      test('a volume in use is extended, and a snapshot of it and a copy are made', async () => {
        const [id, volume] = [await newGuest(), await newVolume()]
        await harness.content?.write(volume, 'in use')
        await volumes().attach(id, attachment(volume), signal())
        const snapshot = newId<VolumeSnapshotId>()

        await volumes().extend(volume, 8 * MIB, signal())
        await volumes().snapshot(volume, snapshot, signal())
        const copy = await newVolume({ from: { volume: volume.id } })

        expect(await reportOf(volume)).toMatchObject({ bytes: 8 * MIB, snapshots: [snapshot] })
        expect(await reportOf(copy)).toMatchObject({ bytes: 8 * MIB })
        if (harness.content !== undefined)
          expect((await harness.content.read(copy)).toString('utf8', 0, 6)).toBe('in use')
      })

      test('a guest keeps its volumes through a rebuild and a resize', async () => {
        const spec = instanceSpec(harness.image)
        spawned.set(spec.id, driver)
        await driver.spawn(spec, signal())
        const volume = await newVolume()
        const wanted = attachment(volume)
        await volumes().attach(spec.id, wanted, signal())

        const how = { keepsEphemeral: false, runs: true }
        await driver.rebuild!.rebuild(spec, how, signal())
        await refused(volumes().destroy(volume, signal()), 'conflict')
        const flavor = { ...spec.flavor, id: 'large', rootGb: 2, ephemeralGb: 1 }
        await driver.resize!.resize({ ...spec, flavor }, { runs: true, graceMs: 0 }, signal())

        await refused(volumes().destroy(volume, signal()), 'conflict')
        expect(await volumes().attach(spec.id, wanted, signal())).toMatch(/^\/dev\/vd[b-z]$/)
      })

      test('the volumes of a suspended guest stay as they are', async () => {
        const [id, volume, other] = [await newGuest(), await newVolume(), await newVolume()]
        const wanted = attachment(volume)
        await volumes().attach(id, wanted, signal())

        await driver.suspend!.suspend(id, signal())

        await refused(volumes().attach(id, attachment(other), signal()), 'conflict')
        await refused(volumes().detach(id, wanted.attachmentId, signal()), 'conflict')
        await driver.suspend!.resume(id, signal())
        await volumes().destroy(other, signal())
      })

      test('a guest does not leave its host with a volume', async () => {
        const [id, volume] = [await newGuest(), await newVolume()]
        await volumes().attach(id, attachment(volume), signal())
        const named = { kind: 'conflict', message: expect.stringContaining(volume.id) }

        await expect(driver.move!.pack(id, 0, signal())).rejects.toMatchObject(named)
        await expect(driver.liveMove!.announce(id, signal())).rejects.toMatchObject(named)
      })

      test('what is absent is not-found, and a detach of it changes nothing', async () => {
        const [id, volume] = [await newGuest(), await newVolume()]
        const absent = { store: store.id, id: newId<VolumeId>() }

        await refused(volumes().attach(newId(), attachment(volume), signal()), 'not-found')
        await refused(volumes().attach(id, attachment(absent), signal()), 'not-found')
        await refused(volumes().detach(newId(), newId(), signal()), 'not-found')
        await volumes().detach(id, newId(), signal())
        await volumes().destroy(volume, signal())
      })
    })
  })
}
