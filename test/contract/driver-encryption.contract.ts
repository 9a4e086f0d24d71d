import { describe, expect, test } from 'vitest'
import { newId, type VolumeSnapshotId } from '#common/ids.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { VolumeRef, VolumeSpec } from '#drivers/volumes.ts'
import { isFullRun } from '../env/full-run.ts'
import type { VolumesWorld } from './volumes-world.ts'

const AES_256 = { keyBits: 256 } as const

/** The contract of encrypted volumes, a part of that of volumes. */
export function driverEncryptionContract(world: VolumesWorld): void {
  const { signal, volumes, reportOf, newRef, newVolume, newGuest, attachment, ready, refused } =
    world
  const { lacks } = world
  // QEMU takes seconds to make each LUKS header.
  const isShort = () => world.harness.sealed !== undefined && !isFullRun
  const keyFor = (text: string) => text.repeat(32)
  const withKeys = async <T>(
    keys: readonly (readonly [VolumeRef, string])[],
    work: () => Promise<T>,
  ): Promise<T> => {
    const holder = newId<string>()
    const held = keys.map(([{ id }, key]) => ({ id, key }))
    await volumes().keys!.hold(holder, held, signal())
    try {
      return await work()
    } finally {
      await volumes().keys!.drop(holder, signal())
    }
  }
  const newEncrypted = async (
    key: string,
    more: Partial<VolumeSpec> = {},
    sources: readonly (readonly [VolumeRef, string])[] = [],
  ) => {
    const ref = newRef()
    await withKeys([[ref, key], ...sources], () =>
      volumes().create({ ...ref, bytes: world.unit, encryption: AES_256, ...more }, signal()),
    )
    return ref
  }

  describe('encryption', () => {
    test('a store says whether it encrypts, and one that does not refuses encrypted volumes', async () => {
      const spec = { ...newRef(), bytes: world.unit, encryption: AES_256 }
      expect(volumes().keys !== undefined || !world.store.encrypts).toBe(true)
      const kind = world.store.encrypts ? 'conflict' : 'unsupported'

      await refused(volumes().create(spec, signal()), kind)

      expect(await world.harness.volumeLeftovers(spec.id)).toEqual([])
    })

    test('a volume has its size, grows, and opens with its own key alone', async ({ skip }) => {
      if (!world.store.encrypts) return skip()
      const volume = await newEncrypted(keyFor('a'))
      expect(await reportOf(volume)).toMatchObject({ bytes: world.unit })
      await world.harness.sealed?.put(volume, keyFor('a'), 0x5a)

      for (const _ of [1, 2]) await volumes().extend(volume, 2 * world.unit, signal())

      expect(await reportOf(volume)).toMatchObject({ bytes: 2 * world.unit })
      if (world.harness.sealed === undefined) return
      const { has, raw } = world.harness.sealed
      expect(await has(volume, keyFor('a'), 0x5a)).toBe(true)
      expect(await has(volume, keyFor('b'), 0x5a)).toBe(false)
      const bytes = await raw(volume)
      expect(bytes.subarray(0, 4).toString()).toBe('LUKS')
      expect(bytes.includes(Buffer.alloc(512, 0x5a))).toBe(false)
      await refused(volumes().export(volume, 'raw', signal()), 'unsupported')
    })

    test('what is made from it has the content, and a key of its own', async ({ skip }) => {
      if (!world.store.encrypts || isShort() || lacks('snapshots')) return skip()
      const { harness } = world
      const source = await newEncrypted(keyFor('a'))
      const snapshot = newId<VolumeSnapshotId>()
      await harness.sealed?.put(source, keyFor('a'), 0x5a)
      const known = [[source, keyFor('a')]] as const
      await withKeys(known, () => volumes().snapshot(source, snapshot, signal()))
      await harness.sealed?.put(source, keyFor('a'), 0x77)

      const ofVolume = await newEncrypted(keyFor('b'), { from: { volume: source.id } }, known)
      const bytes = 2 * world.unit
      const from = { volume: source.id, snapshot }
      const ofSnapshot = await newEncrypted(keyFor('c'), { from, bytes }, known)
      const plain = await newVolume()
      const ofPlain = await newEncrypted(keyFor('d'), { from: { volume: plain.id } })
      const ref = newRef()
      const unknown = { ...ref, bytes, from, encryption: AES_256 }
      await withKeys([[ref, keyFor('e')]], () =>
        refused(volumes().create(unknown, signal()), 'conflict'),
      )
      expect(await harness.volumeLeftovers(ref.id)).toEqual([])

      expect(await reportOf(ofSnapshot)).toMatchObject({ bytes })
      expect(await reportOf(ofPlain)).toMatchObject({ bytes: plain.bytes })
      await withKeys(known, () => volumes().revert(source, snapshot, signal()))
      if (harness.sealed === undefined) return
      const { has } = harness.sealed
      expect(await has(ofVolume, keyFor('b'), 0x77)).toBe(true)
      expect(await has(ofVolume, keyFor('a'), 0x77)).toBe(false)
      expect(await has(ofSnapshot, keyFor('c'), 0x5a)).toBe(true)
      expect(await has(ofPlain, keyFor('d'), 0)).toBe(true)
      expect(await has(source, keyFor('a'), 0x5a)).toBe(true)
    })

    test('a rebuild gives one that a guest starts from new content, under its own key, if it has the key', async ({
      skip,
    }) => {
      if (!world.store.encrypts || isShort()) return skip()
      const { harness, driver } = world
      const root = await newEncrypted(keyFor('a'))
      await harness.sealed?.put(root, keyFor('a'), 0x5a)
      const volumesOfIt = [attachment(root, { isRoot: true })]
      const spec = { ...instanceSpec(harness.image), volumes: volumesOfIt }
      world.spawned.set(spec.id, driver)
      await withKeys([[root, keyFor('a')]], () => driver.spawn(spec, signal()))
      const filled = Buffer.alloc(world.unit / 2, 0x77)
      const image = harness.sealed === undefined ? harness.image : harness.shelve(filled, 'raw')
      const how = { keepsEphemeral: false, runs: false, reimages: true }
      const rebuilt = () => driver.rebuild!.rebuild({ ...spec, image }, how, signal())

      await refused(rebuilt(), 'conflict')
      const kept = await harness.sealed?.has(root, keyFor('a'), 0x5a)
      expect(kept).toBe(harness.sealed && true)
      await withKeys([[root, keyFor('a')]], rebuilt)

      expect(await reportOf(root)).toMatchObject({ bytes: world.unit })
      await withKeys([[root, keyFor('a')]], () => driver.start(spec.id, signal()))
      await ready(spec.id)
      if (harness.sealed === undefined) return
      const { has, raw } = harness.sealed
      expect(await has(root, keyFor('a'), 0x77)).toBe(true)
      expect(await has(root, keyFor('b'), 0x77)).toBe(false)
      const bytes = await raw(root)
      expect(bytes.subarray(0, 4).toString()).toBe('LUKS')
      expect(bytes.includes(Buffer.alloc(512, 0x77))).toBe(false)
    })

    test('an image becomes the content of one under its own key, if it has the key', async ({
      skip,
    }) => {
      if (!world.store.encrypts || isShort()) return skip()
      const { harness } = world
      const volume = await newEncrypted(keyFor('a'))
      await harness.sealed?.put(volume, keyFor('a'), 0x5a)
      const filled = Buffer.alloc(world.unit / 2, 0x77)
      const image = harness.sealed === undefined ? harness.image : harness.shelve(filled, 'raw')
      const reimage = () => volumes().reimage(volume, image, signal())

      await refused(reimage(), 'conflict')
      expect(await harness.sealed?.has(volume, keyFor('a'), 0x5a)).toBe(harness.sealed && true)
      await withKeys([[volume, keyFor('a')]], reimage)

      expect(await reportOf(volume)).toMatchObject({ bytes: world.unit })
      if (harness.sealed === undefined) return
      expect(await harness.sealed.has(volume, keyFor('a'), 0x77)).toBe(true)
      expect((await harness.sealed.raw(volume)).includes(Buffer.alloc(512, 0x77))).toBe(false)
    })

    test('a guest gets it, and starts with it, only while its key is held', async ({ skip }) => {
      if (!world.store.encrypts) return skip()
      const volume = await newEncrypted(keyFor('a'))
      const id = await newGuest()
      const wanted = attachment(volume)
      await expect(volumes().attach(id, wanted, signal())).rejects.toThrow()
      await ready(id)

      await withKeys([[volume, keyFor('a')]], () => volumes().attach(id, wanted, signal()))
      await world.driver.stop(id, 0, signal())
      await expect(world.driver.start(id, signal())).rejects.toThrow()
      await withKeys([[volume, keyFor('b')]], () =>
        expect(world.driver.start(id, signal())).rejects.toThrow(),
      )
      await withKeys([[volume, keyFor('a')]], async () => {
        await world.driver.start(id, signal())
        if (isShort() || lacks('snapshots')) return
        const copy = newId<VolumeSnapshotId>()
        await volumes().snapshot(volume, copy, signal())
        await volumes().destroySnapshot(volume, copy, signal())
      })

      await ready(id)
      await volumes().detach(id, wanted.attachmentId, signal())
      await volumes().destroy(volume, signal())
      expect(await volumes().list(world.store.id, signal())).toEqual([])
    })
  })
}
