import { describe, expect, test } from 'vitest'
import { newId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { qcow2Header } from '#drivers/testing/qcow2-header.ts'
import { MIB, type VolumesWorld } from './volumes-world.ts'

const LARGE = 64 * MIB

/** Part of `driverVolumesContract`: what a driver owes a volume that gets the content of an image. */
export function driverReimageContract(world: VolumesWorld): void {
  const { lacks, signal, volumes, reportOf, newVolume, newGuest, attachment, ready, refused } =
    world

  describe('content of an image', () => {
    test('reimage() gives a volume the content, may be repeated, and keeps its size and its snapshots', async () => {
      const { image, content } = world.harness
      const expected = await newVolume({ from: { image }, bytes: 2 * world.unit })
      const volume = await newVolume({ bytes: 2 * world.unit })
      const snapshots = lacks('snapshots') ? [] : [newId<VolumeSnapshotId>()]
      for (const each of snapshots) await volumes().snapshot(volume, each, signal())
      await content?.write(volume, 'what was there')

      for (const _ of [1, 2]) await volumes().reimage(volume, image, signal())

      expect(await reportOf(volume)).toMatchObject({ bytes: volume.bytes, snapshots })
      const whole = await content?.read(volume)
      if (whole !== undefined) expect(whole.equals(await content!.read(expected))).toBe(true)
    })

    test('reimage() with an image that does not fit, or of an absent volume, changes nothing', async () => {
      const { harness } = world
      const { image, content } = harness
      const volume = await newVolume()
      await content?.write(volume, 'kept')
      const size = 2 * volume.bytes

      // Another cloud says only once it unpacks the image how large that is.
      if (size <= LARGE) {
        const large =
          content === undefined
            ? harness.shelve(Buffer.alloc(size), 'raw')
            : harness.shelve(qcow2Header({ virtualSize: BigInt(size) }), 'qcow2')
        await refused(volumes().reimage(volume, large, signal()), 'invalid')
      }
      const absent = { store: world.store.id, id: newId<VolumeId>() }
      await refused(volumes().reimage(absent, image, signal()), 'not-found')

      expect(await harness.volumeLeftovers(volume.id)).toHaveLength(1)
      if (content !== undefined)
        expect((await content.read(volume)).toString('utf8', 0, 4)).toBe('kept')
    })

    test('reimage() of a volume that a guest has is refused, on whichever host', async () => {
      const { image } = world.harness
      const [id, volume] = [await newGuest(), await newVolume({ bytes: 2 * world.unit })]
      const wanted = attachment(volume)
      await volumes().attach(id, wanted, signal())

      for (const each of [volumes(), world.neighbour.volumes!])
        await refused(each.reimage(volume, image, signal()), 'conflict')

      await ready(id)
      await volumes().detach(id, wanted.attachmentId, signal())
      await volumes().reimage(volume, image, signal())
    })
  })
}
