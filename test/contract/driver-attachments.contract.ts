import { describe, expect, test } from 'vitest'
import { type ImageId, newId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { qcow2Header } from '#drivers/testing/qcow2-header.ts'
import type { AttachmentSpec, VolumeRef } from '#drivers/volumes.ts'
import type { StoreLack } from '#openapi/wire/volume.ts'
import { bytesOf, type VolumesWorld } from './volumes-world.ts'

/** The name of a disk other than the first. */
const SECOND = /^\/dev\/[a-z]{2}[b-z]$/

/** The contract of guests with volumes, a part of that of volumes. */
export function driverAttachmentsContract(world: VolumesWorld): void {
  const { spawned, signal, volumes, reportOf, newVolume, newGuest, attachment, ready, refused } =
    world
  const { lacks } = world

  describe('attachments', () => {
    test('attach() may be repeated and survives a stop, a start and a reboot; detach() too', async () => {
      const [id, volume] = [await newGuest(), await newVolume()]
      const wanted = attachment(volume)

      const name = await volumes().attach(id, wanted, signal())
      expect(name).toMatch(SECOND)
      await world.driver.stop(id, 0, signal())
      await world.driver.start(id, signal())
      await world.driver.reboot(id, 'hard', 0, signal())

      expect(await volumes().attach(id, wanted, signal())).toBe(name)
      await refused(volumes().destroy(volume, signal()), 'conflict')
      await refused(world.neighbour.volumes!.destroy(volume, signal()), 'conflict')
      const snapshot = newId<VolumeSnapshotId>()
      if (!lacks('snapshots')) await volumes().snapshot(volume, snapshot, signal())
      for (const each of [volumes(), world.neighbour.volumes!])
        await refused(each.revert(volume, snapshot, signal()), 'conflict')
      await volumes().destroySnapshot(volume, snapshot, signal())
      await ready(id)
      for (const _ of [1, 2]) await volumes().detach(id, wanted.attachmentId, signal())
      await volumes().destroy(volume, signal())
    })

    test('volumes of one guest have names of their own, also of a guest that is off', async () => {
      const id = await newGuest()
      const first = attachment(await newVolume())
      const second = attachment(await newVolume(), { isReadOnly: true, tag: 'data' })

      const names = [await volumes().attach(id, first, signal())]
      await world.driver.stop(id, 0, signal())
      names.push(await volumes().attach(id, second, signal()))
      await world.driver.start(id, signal())

      expect(new Set(names).size).toBe(2)
    })

    test('a second guest gets a volume only if both share it, on whichever host', async () => {
      const [one, two] = [await newGuest(), await newGuest()]
      const elsewhere = await newGuest(world.neighbour)
      const volume = await newVolume()
      const first = attachment(volume)
      await volumes().attach(one, first, signal())

      for (const isShared of [false, true]) {
        const wanted = attachment(volume, { isShared })
        await refused(volumes().attach(two, wanted, signal()), 'conflict')
        await refused(world.neighbour.volumes!.attach(elsewhere, wanted, signal()), 'conflict')
      }

      await ready(one)
      await volumes().detach(one, first.attachmentId, signal())
      await world.driver.start(one, signal())
      if (!world.store.multiattach) return
      const shared = () => attachment(volume, { isShared: true })
      await volumes().attach(one, shared(), signal())
      await volumes().attach(two, shared(), signal())
      await world.neighbour.volumes!.attach(elsewhere, shared(), signal())
    })

    test('attachments end with their instance, and volumes stay', async () => {
      const [id, volume] = [await newGuest(), await newVolume()]
      await volumes().attach(id, attachment(volume), signal())

      await world.driver.destroy(id, signal())

      expect(await reportOf(volume)).toMatchObject({ bytes: volume.bytes })
      const other = await newGuest(world.neighbour)
      await world.neighbour.volumes!.attach(other, attachment(volume), signal())
    })

    test('a volume in use is neither extended nor copied where its store cannot, and stays as it is', async ({
      skip,
    }) => {
      if (!lacks('extend-in-use') || !lacks('copy-in-use')) return skip()
      const [id, volume] = [await newGuest(), await newVolume()]
      await world.harness.content?.write(volume, 'in use')
      await volumes().attach(id, attachment(volume), signal())
      const copy = { ...world.newRef(), bytes: world.unit, from: { volume: volume.id } }

      for (const each of [volumes(), world.neighbour.volumes!]) {
        await refused(each.extend(volume, 2 * world.unit, signal()), 'conflict')
        await refused(each.create(copy, signal()), 'conflict')
        await refused(each.export(volume, 'raw', signal()), 'conflict')
      }

      expect(await reportOf(volume)).toEqual({ id: volume.id, bytes: volume.bytes, snapshots: [] })
      expect(await world.harness.volumeLeftovers(copy.id)).toEqual([])
      const content = await world.harness.content?.read(volume)
      expect(content?.toString('utf8', 0, 6)).toBe(content && 'in use')
    })

    test('a volume in use is extended, and a snapshot of it and a copy are made', async () => {
      if (['snapshots', 'extend-in-use', 'copy-in-use'].some((each) => lacks(each as StoreLack)))
        return
      const [id, volume] = [await newGuest(), await newVolume()]
      await world.harness.content?.write(volume, 'in use')
      await volumes().attach(id, attachment(volume), signal())
      const snapshot = newId<VolumeSnapshotId>()

      await volumes().extend(volume, 2 * world.unit, signal())
      await volumes().snapshot(volume, snapshot, signal())
      const copy = await newVolume({ from: { volume: volume.id } })
      await using disk = await volumes().export(volume, 'qcow2', signal())

      expect(await reportOf(volume)).toMatchObject({ bytes: 2 * world.unit, snapshots: [snapshot] })
      expect(await reportOf(copy)).toMatchObject({ bytes: 2 * world.unit })
      expect((await bytesOf(disk)).length).toBe(disk.sizeBytes)
      if (world.harness.content === undefined) return
      expect((await world.harness.content.read(copy)).toString('utf8', 0, 6)).toBe('in use')
      expect((await bytesOf(disk)).toString('latin1', 0, 3)).toBe('QFI')
    })

    test('a volume that guests may share is kept and copied while one has it, unless its store cannot', async ({
      skip,
    }) => {
      if (!world.store.multiattach || lacks('snapshots') || lacks('copy-in-use')) return skip()
      const [id, volume] = [await newGuest(), await newVolume()]
      await volumes().attach(id, attachment(volume, { isShared: true }), signal())
      const copy = { ...world.newRef(), bytes: world.unit, from: { volume: volume.id } }
      const works = [
        () => volumes().snapshot(volume, newId(), signal()),
        () => volumes().create(copy, signal()),
        async () => (await volumes().export(volume, 'raw', signal()))[Symbol.asyncDispose](),
      ]

      for (const work of works)
        if (lacks('copy-shared-in-use')) await refused(work(), 'conflict')
        else await work()

      const { snapshots } = (await reportOf(volume))!
      expect(snapshots).toHaveLength(lacks('copy-shared-in-use') ? 0 : 1)
    })

    test('a guest keeps its volumes through a rebuild and a resize', async () => {
      const spec = instanceSpec(world.harness.image)
      spawned.set(spec.id, world.driver)
      await world.driver.spawn(spec, signal())
      const volume = await newVolume()
      const wanted = attachment(volume)
      await volumes().attach(spec.id, wanted, signal())

      const how = { keepsEphemeral: false, runs: true }
      await world.driver.rebuild!.rebuild(spec, how, signal())
      await refused(volumes().destroy(volume, signal()), 'conflict')
      const flavor = { ...spec.flavor, id: 'large', rootGb: 2, ephemeralGb: 1 }
      await world.driver.resize!.resize({ ...spec, flavor }, { runs: true, graceMs: 0 }, signal())

      await refused(volumes().destroy(volume, signal()), 'conflict')
      expect(await volumes().attach(spec.id, wanted, signal())).toMatch(SECOND)
    })

    test('a guest starts from a volume, with another beside it, and keeps both', async () => {
      const { image } = world.harness
      const [root, data] = [await newVolume({ from: { image } }), await newVolume()]
      const wanted = [attachment(root, { isRoot: true }), attachment(data)]
      const gone = { ...image, id: newId<ImageId>(), sha256: '0'.repeat(64) }
      const spec = { ...instanceSpec(gone), volumes: wanted }
      spawned.set(spec.id, world.driver)

      for (const _ of [1, 2]) await world.driver.spawn(spec, signal())
      await world.driver.reboot(spec.id, 'hard', 0, signal())
      await world.driver.stop(spec.id, 0, signal())
      await world.driver.start(spec.id, signal())

      expect(await volumes().attach(spec.id, wanted[1]!, signal())).toMatch(SECOND)
      await refused(volumes().destroy(root, signal()), 'conflict')
      await refused(world.neighbour.volumes!.destroy(data, signal()), 'conflict')
      await refused(volumes().detach(spec.id, wanted[0]!.attachmentId, signal()), 'conflict')
      await refused(world.driver.snapshot!.take(spec.id, signal()), 'conflict')
      const flavor = { ...spec.flavor, id: 'small', rootGb: 0 }
      const resized = { runs: true, graceMs: 0 }
      await world.driver.resize!.resize({ ...spec, flavor }, resized, signal())
      await world.driver.resize!.revert(spec, resized, signal())
      expect(await volumes().attach(spec.id, wanted[1]!, signal())).toMatch(SECOND)
      await world.driver.destroy(spec.id, signal())
      expect(await reportOf(root)).toMatchObject({ bytes: root.bytes })
    })

    test('a guest that starts from a volume is rescued, with all its disks beside, and goes back', async () => {
      const { image } = world.harness
      const [root, data] = [await newVolume({ from: { image } }), await newVolume()]
      const wanted = [attachment(root, { isRoot: true }), attachment(data)]
      const spec = { ...instanceSpec(image), volumes: wanted }
      spawned.set(spec.id, world.driver)
      await world.driver.spawn(spec, signal())
      const device = { hw_rescue_device: 'disk', hw_rescue_bus: 'virtio' }
      const properties = { ...image.properties, ...device }
      const rescue = { image: { ...image, properties }, graceMs: 0, adminPassword: null }
      const { rescue: part } = world.driver

      await refused(part!.rescue(spec.id, { ...rescue, image }, signal()), 'invalid')
      if (world.harness.rescuesRoots === false) {
        await refused(part!.rescue(spec.id, rescue, signal()), 'invalid')
        expect(await volumes().attach(spec.id, wanted[1]!, signal())).toMatch(SECOND)
        return
      }
      for (const _ of [1, 2]) await part!.rescue(spec.id, rescue, signal())
      for (const each of [root, data]) {
        await refused(volumes().destroy(each, signal()), 'conflict')
        await refused(world.neighbour.volumes!.destroy(each, signal()), 'conflict')
      }
      for (const _ of [1, 2]) await part!.unrescue(spec.id, signal())

      expect(await volumes().attach(spec.id, wanted[1]!, signal())).toMatch(SECOND)
      await part!.rescue(spec.id, rescue, signal())
      await world.driver.destroy(spec.id, signal())
      expect(await world.harness.leftovers(spec.id)).toEqual([])
      expect(await reportOf(root)).toMatchObject({ bytes: root.bytes })
    })

    test('a rebuild gives the volume that a guest starts from new content, or leaves it, and it keeps its size', async () => {
      const { image, content } = world.harness
      const expected = await newVolume({ from: { image } })
      const { bytes } = (await reportOf(expected))!
      const from = { image }
      const [root, data] = [await newVolume({ bytes, from }), await newVolume()]
      const [old, other] = ['what was there', 'data']
      await content?.write(root, old)
      await content?.write(data, other)
      const wanted = [attachment(root, { isRoot: true }), attachment(data)]
      const spec = { ...instanceSpec(image), volumes: wanted }
      spawned.set(spec.id, world.driver)
      await world.driver.spawn(spec, signal())
      const rebuilt = (reimages: boolean, asked = image) =>
        world.driver.rebuild!.rebuild(
          { ...spec, image: asked },
          { keepsEphemeral: false, runs: false, reimages },
          signal(),
        )
      const startOf = async (volume: VolumeRef, text: string) =>
        (await content?.read(volume))?.toString('utf8', 0, text.length)

      for (const _ of [1, 2]) await rebuilt(false)
      expect(await startOf(root, old)).toBe(content && old)
      const large = qcow2Header({ virtualSize: BigInt(2 * bytes) })
      for (const each of [
        ...Object.values(world.harness.refused).slice(0, 1),
        ...(content === undefined ? [] : [world.harness.shelve(large, 'qcow2')]),
      ])
        await refused(rebuilt(true, each), 'invalid')
      expect(await startOf(root, old)).toBe(content && old)
      for (const _ of [1, 2]) await rebuilt(true)

      expect(await reportOf(root)).toMatchObject({ bytes })
      expect(await startOf(data, other)).toBe(content && other)
      const whole = await content?.read(root)
      if (whole !== undefined) expect(whole.equals(await content!.read(expected))).toBe(true)
      await world.driver.start(spec.id, signal())
      await refused(world.neighbour.volumes!.destroy(root, signal()), 'conflict')
      expect(await volumes().attach(spec.id, wanted[1]!, signal())).toMatch(SECOND)
      await world.driver.destroy(spec.id, signal())
      for (const each of [root, data]) await volumes().destroy(each, signal())
    })

    test('a guest is not built with a volume that there is not, or that another has', async () => {
      const { image } = world.harness
      const [root, free] = [await newVolume({ from: { image } }), await newVolume()]
      const other = await newGuest(world.neighbour)
      await world.neighbour.volumes!.attach(other, attachment(root), signal())
      const absent = { store: world.store.id, id: newId<VolumeId>() }
      const elsewhere = { store: newId<string & VolumeId>(), id: free.id }
      const build = async (...wanted: readonly AttachmentSpec[]) => {
        const spec = { ...instanceSpec(image), volumes: wanted }
        try {
          await world.driver.spawn(spec, signal())
        } finally {
          expect(await world.harness.leftovers(spec.id)).toEqual([])
        }
      }

      const rooted = attachment(root, { isRoot: true })
      await refused(build(attachment(free), rooted), 'conflict')
      await refused(build(attachment(free), attachment(absent)), 'not-found')
      await refused(build(attachment(elsewhere)), 'not-found')

      await volumes().destroy(free, signal())
    })

    test('the volumes of a suspended guest stay as they are', async () => {
      const [id, volume, other] = [await newGuest(), await newVolume(), await newVolume()]
      const wanted = attachment(volume)
      await volumes().attach(id, wanted, signal())

      await world.driver.suspend!.suspend(id, signal())

      await refused(volumes().attach(id, attachment(other), signal()), 'conflict')
      await refused(volumes().detach(id, wanted.attachmentId, signal()), 'conflict')
      await world.driver.suspend!.resume(id, signal())
      await volumes().destroy(other, signal())
    })

    test('what is absent is not-found, and a detach of it changes nothing', async () => {
      const [id, volume] = [await newGuest(), await newVolume()]
      const absent = { store: world.store.id, id: newId<VolumeId>() }

      await refused(volumes().attach(newId(), attachment(volume), signal()), 'not-found')
      await refused(volumes().attach(id, attachment(absent), signal()), 'not-found')
      await refused(volumes().detach(newId(), newId(), signal()), 'not-found')
      await volumes().detach(id, newId(), signal())
      await volumes().destroy(volume, signal())
    })
  })
}
