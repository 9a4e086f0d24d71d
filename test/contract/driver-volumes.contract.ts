import { describe, expect, test } from 'vitest'
import { newId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { driverAttachmentsContract } from './driver-attachments.contract.ts'
import { driverCarryContract } from './driver-carry.contract.ts'
import { driverEncryptionContract } from './driver-encryption.contract.ts'
import { driverReimageContract } from './driver-reimage.contract.ts'
import { driverSwapContract } from './driver-swap.contract.ts'
import { bytesOf, type VolumesHarness, volumesWorld } from './volumes-world.ts'

/** The contract of every driver with volumes, run by each such driver's own test. */
export function driverVolumesContract(name: string, start: () => Promise<VolumesHarness>): void {
  describe(`the ${name} driver keeps the contract of volumes`, () => {
    const world = volumesWorld(start)
    const { signal, volumes, reportOf, newRef, newVolume, refused, lacks } = world

    describe('stores', () => {
      test('a store is the same on every host that reaches it, and after a restart', async () => {
        await using again = await world.harness.open()
        const { id, engine, totalBytes, freeBytes } = world.store

        expect(freeBytes).toBeLessThanOrEqual(totalBytes)
        for (const driver of [again, world.neighbour]) {
          const seen = await world.storesOf(driver)
          expect(seen).toMatchObject([{ id, engine }])
          // That of a pool of Ceph shrinks by what the cluster itself writes meanwhile.
          expect(seen[0]!.totalBytes / totalBytes).toBeCloseTo(1)
        }
      })

      test('a store that there is not is not-found', async () => {
        const ref = { store: newId<string & VolumeId>(), id: newId<VolumeId>() }
        const spec = { ...ref, bytes: world.unit }

        await refused(volumes().list(ref.store, signal()), 'not-found')
        await refused(volumes().create(spec, signal()), 'not-found')
      })
    })

    describe('volumes', () => {
      test('create() twice makes one volume of that size, which another host sees', async () => {
        const spec = await newVolume()

        await volumes().create(spec, signal())

        const report = { id: spec.id, bytes: spec.bytes, snapshots: [] }
        expect(await volumes().list(world.store.id, signal())).toEqual([report])
        expect(await world.neighbour.volumes!.list(world.store.id, signal())).toEqual([report])
        if (world.harness.content !== undefined)
          expect((await world.harness.content.read(spec)).equals(Buffer.alloc(spec.bytes))).toBe(
            true,
          )
      })

      test('a half-made volume is not listed, and is made again', async () => {
        const spec = { ...newRef(), bytes: world.unit }
        await world.harness.leaveHalf(spec)
        expect(await reportOf(spec)).toBeUndefined()

        await volumes().create(spec, signal())

        expect(await reportOf(spec)).toMatchObject({ bytes: spec.bytes })
        expect(await world.harness.volumeLeftovers(spec.id)).toHaveLength(1)
      })

      test('a half-made volume can be destroyed', async () => {
        const ref = newRef()
        await world.harness.leaveHalf(ref)

        await volumes().destroy(ref, signal())

        expect(await world.harness.volumeLeftovers(ref.id)).toEqual([])
      })

      test('a volume larger than its store is refused and leaves nothing', async () => {
        const spec = { ...newRef(), bytes: world.store.totalBytes + 256 * world.unit }

        await refused(volumes().create(spec, signal()), 'no-capacity')

        expect(await world.harness.volumeLeftovers(spec.id)).toEqual([])
      })

      test('destroy() of an absent volume, and destroying twice, change nothing', async () => {
        const [spec, other] = [await newVolume(), await newVolume()]

        for (const _ of [1, 2]) await volumes().destroy(spec, signal())
        await volumes().destroy({ store: world.store.id, id: newId<VolumeId>() }, signal())

        expect(await volumes().list(world.store.id, signal())).toMatchObject([{ id: other.id }])
      })

      test('export() gives its content away, as often as it is asked, and keeps no copy', async () => {
        const volume = await newVolume()
        await world.harness.content?.write(volume, 'content')

        for (const _ of [1, 2]) {
          await using disk = await volumes().export(volume, 'raw', signal())
          const bytes = await bytesOf(disk)
          expect(disk).toMatchObject({ diskFormat: 'raw', sizeBytes: bytes.length })
          if (world.harness.content === undefined) continue
          expect(bytes.equals(await world.harness.content.read(volume))).toBe(true)
        }

        const absent = { store: world.store.id, id: newId<VolumeId>() }
        await refused(volumes().export(absent, 'raw', signal()), 'not-found')
      })

      test('a host of another cell neither lists nor destroys it', async () => {
        const spec = await newVolume()
        await using other = await world.harness.openOtherCell()

        expect(await other.volumes!.list(world.store.id, signal())).toEqual([])
        await other.volumes!.destroy(spec, signal())

        expect(await reportOf(spec)).toBeDefined()
      })

      test('extend() may be repeated and never shrinks', async () => {
        const spec = await newVolume()
        await world.harness.content?.write(spec, 'kept')

        for (const units of [2, 2, 1]) await volumes().extend(spec, units * world.unit, signal())

        expect(await reportOf(spec)).toMatchObject({ bytes: 2 * world.unit })
        if (world.harness.content !== undefined)
          expect((await world.harness.content.read(spec)).toString('utf8', 0, 4)).toBe('kept')
      })

      test('extend() beyond the store is refused, and of an absent volume not-found', async () => {
        const spec = await newVolume()
        const absent = { store: world.store.id, id: newId<VolumeId>() }

        const tooMuch = world.store.totalBytes + 256 * world.unit
        await refused(volumes().extend(spec, tooMuch, signal()), 'no-capacity')
        await refused(volumes().extend(absent, world.unit, signal()), 'not-found')

        expect(await reportOf(spec)).toMatchObject({ bytes: spec.bytes })
      })
    })

    describe('sources', () => {
      test('a volume made from an image has its content, and at least its size', async () => {
        const { image } = world.harness

        const small = await newVolume({ from: { image }, bytes: 1 })
        const large = await newVolume({ from: { image }, bytes: 2 * world.unit })

        expect((await reportOf(small))!.bytes).toBeGreaterThanOrEqual(image.sizeBytes)
        expect(await reportOf(large)).toMatchObject({ bytes: 2 * world.unit })
      })

      test('a volume made from a volume has its content, and lives on without it', async () => {
        const source = await newVolume()
        await world.harness.content?.write(source, 'source')

        const copy = await newVolume({ from: { volume: source.id }, bytes: 2 * world.unit })
        await volumes().destroy(source, signal())

        expect(await reportOf(copy)).toMatchObject({ bytes: 2 * world.unit })
        if (world.harness.content !== undefined)
          expect((await world.harness.content.read(copy)).toString('utf8', 0, 6)).toBe('source')
      })

      test('a snapshot that its store cannot make is refused, and the volume stays as it is', async ({
        skip,
      }) => {
        if (!lacks('snapshots')) return skip()
        const volume = await newVolume()

        const snapshot = newId<VolumeSnapshotId>()
        await refused(volumes().snapshot(volume, snapshot, signal()), 'unsupported')
        await volumes().destroySnapshot(volume, snapshot, signal())

        const { id, bytes } = volume
        expect(await reportOf(volume)).toEqual({ id, bytes, snapshots: [] })
      })

      test('a snapshot holds one moment, may be repeated, and is a source', async ({ skip }) => {
        if (lacks('snapshots')) return skip()
        const source = await newVolume()
        const snapshot = newId<VolumeSnapshotId>()
        await world.harness.content?.write(source, 'before')

        await volumes().snapshot(source, snapshot, signal())
        await world.harness.content?.write(source, 'after!')
        await volumes().snapshot(source, snapshot, signal())
        const copy = await newVolume({ from: { volume: source.id, snapshot } })

        expect(await reportOf(source)).toMatchObject({ snapshots: [snapshot] })
        await refused(volumes().destroy(source, signal()), 'conflict')
        for (const _ of [1, 2]) await volumes().destroySnapshot(source, snapshot, signal())
        expect(await reportOf(source)).toMatchObject({ snapshots: [] })
        expect(await reportOf(copy)).toMatchObject({ bytes: copy.bytes })
        if (world.harness.content !== undefined)
          expect((await world.harness.content.read(copy)).toString('utf8', 0, 6)).toBe('before')
      })

      test('revert() brings the content of a snapshot back, may be repeated, and keeps the size', async ({
        skip,
      }) => {
        if (lacks('snapshots')) return skip()
        const volume = await newVolume()
        const snapshot = newId<VolumeSnapshotId>()
        await world.harness.content?.write(volume, 'before')
        await volumes().snapshot(volume, snapshot, signal())
        await world.harness.content?.write(volume, 'after!')
        const units = world.harness.revertsExtended === false ? 1 : 2
        await volumes().extend(volume, units * world.unit, signal())

        for (const _ of [1, 2]) await volumes().revert(volume, snapshot, signal())

        expect(await reportOf(volume)).toMatchObject({
          bytes: units * world.unit,
          snapshots: [snapshot],
        })
        if (world.harness.content !== undefined) {
          const content = await world.harness.content.read(volume)
          expect([content.length, content.toString('utf8', 0, 6)]).toEqual([
            units * world.unit,
            'before',
          ])
        }
      })

      test('revert() of an absent volume, or to an absent snapshot, throws not-found and changes nothing', async () => {
        const volume = await newVolume()
        await world.harness.content?.write(volume, 'kept')
        const absent = { store: world.store.id, id: newId<VolumeId>() }
        const snapshot = newId<VolumeSnapshotId>()

        for (const each of [volume, absent])
          await refused(volumes().revert(each, snapshot, signal()), 'not-found')

        expect(await world.harness.volumeLeftovers(volume.id)).toHaveLength(1)
        if (world.harness.content !== undefined)
          expect((await world.harness.content.read(volume)).toString('utf8', 0, 4)).toBe('kept')
      })

      test('a source that there is not is not-found and leaves nothing', async () => {
        const volume = newId<VolumeId>()
        const { id } = await newVolume()
        const snapshot = newId<VolumeSnapshotId>()
        for (const from of [{ volume }, { volume, snapshot }, { volume: id, snapshot }]) {
          const spec = { ...newRef(), bytes: world.unit, from }

          await refused(volumes().create(spec, signal()), 'not-found')

          expect(await world.harness.volumeLeftovers(spec.id)).toEqual([])
        }
        const absent = { store: world.store.id, id: volume }
        await refused(volumes().snapshot(absent, snapshot, signal()), 'not-found')
      })
    })

    driverReimageContract(world)
    driverAttachmentsContract(world)
    driverEncryptionContract(world)
    driverCarryContract(world)
    driverSwapContract(world)
  })
}
