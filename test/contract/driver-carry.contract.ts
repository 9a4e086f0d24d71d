import { describe, expect, test } from 'vitest'
import { newId, type VolumeId } from '#common/ids.ts'
import type { Driver } from '#drivers/driver.ts'
import type { VolumesWorld } from './volumes-world.ts'

const CHUNK_BYTES = 256 * 1024
const AES_256 = { keyBits: 256 } as const
const KEY = 'k'.repeat(32)
const CLEAR = 'in the clear'

/** The contract of drivers that carry volumes to stores which another host reaches, a part of that of volumes. */
export function driverCarryContract(world: VolumesWorld): void {
  const { signal, volumes, newVolume, newRef, newGuest, attachment, refused, reportOf } = world

  /** Afterwards the other host has the copy, whose size this is. */
  async function carried(copy: string, to: Driver): Promise<number> {
    for (let offset = 0; ; offset += CHUNK_BYTES) {
      const part = { offset, maxBytes: CHUNK_BYTES }
      const { bytes, sizeBytes } = await volumes().carry!.read(copy, part, signal())
      // A repeat, also a late one, changes nothing.
      for (const at of [offset, offset, 0]) {
        const again = at === offset ? bytes : bytes.subarray(0, 0)
        await to.volumes!.carry!.write(copy, at, again, signal())
      }
      if (offset + bytes.length >= sizeBytes) return sizeBytes
    }
  }

  /** Does the work while the host has the key of the volume. */
  async function withKey<T>(host: Driver, id: VolumeId, work: () => Promise<T>): Promise<T> {
    const holder = newId<string>()
    await host.volumes!.keys!.hold(holder, [{ id, key: KEY }], signal())
    try {
      return await work()
    } finally {
      await host.volumes!.keys!.drop(holder, signal())
    }
  }

  async function droppedOn(copy: string, ...hosts: readonly Driver[]): Promise<void> {
    for (const host of hosts) {
      for (const _ of [1, 2]) await host.volumes!.carry!.drop(copy, signal())
      const read = host.volumes!.carry!.read(copy, { offset: 0, maxBytes: 1 }, signal())
      await refused(read, 'not-found')
    }
  }

  describe('carrying', () => {
    test('another host makes the volume from a copy, with every byte, and the copy is dropped', async ({
      skip,
    }) => {
      if (volumes().carry === undefined) return skip()
      const volume = await newVolume()
      await world.harness.content?.write(volume, 'carried')
      const before = await world.harness.content?.read(volume)
      const copy = newId<string>()

      for (const _ of [1, 2]) await volumes().carry!.pack(volume, copy, signal())
      const sizeBytes = await carried(copy, world.neighbour)
      await volumes().destroy(volume, signal())
      const there = world.neighbour.volumes!
      const spec = { ...volume, from: { copy: { id: copy, sizeBytes } } }
      const half = { ...volume, from: { copy: { id: copy, sizeBytes: sizeBytes + 1 } } }
      await refused(there.create(half, signal()), 'not-found')
      await there.create(spec, signal())

      expect(await reportOf(volume)).toMatchObject({ bytes: volume.bytes, snapshots: [] })
      if (before !== undefined)
        expect(before.equals(await world.harness.content!.read(volume))).toBe(true)
      await droppedOn(copy, world.driver, world.neighbour)
    })

    test('an encrypted volume goes encrypted, and opens with its key afterwards', async ({
      skip,
    }) => {
      if (volumes().carry === undefined || !world.store.encrypts) return skip()
      const ref = newRef()
      const spec = { ...ref, bytes: world.unit, encryption: AES_256 }
      const keyed = <T>(host: Driver, work: () => Promise<T>) => withKey(host, ref.id, work)
      await keyed(world.driver, () => volumes().create(spec, signal()))
      await world.harness.sealed?.put(ref, KEY, 0x5a)
      const copy = newId<string>()

      await volumes().carry!.pack(ref, copy, signal())
      const sizeBytes = await carried(copy, world.neighbour)
      expect(await holds(copy)).toBe(false)
      await volumes().destroy(ref, signal())
      const there = { ...spec, from: { copy: { id: copy, sizeBytes } } }
      await refused(world.neighbour.volumes!.create(there, signal()), 'conflict')
      await keyed(world.neighbour, () => world.neighbour.volumes!.create(there, signal()))

      expect(await reportOf(ref)).toMatchObject({ bytes: world.unit })
      if (world.harness.sealed !== undefined)
        expect(await world.harness.sealed.has(ref, KEY, 0x5a)).toBe(true)
      await droppedOn(copy, world.driver, world.neighbour)
    })

    test('a volume is encrypted on its way, and no more on the next, with every byte', async ({
      skip,
    }) => {
      if (volumes().carry === undefined || !world.store.encrypts) return skip()
      const { bytes, ...ref } = await newVolume()
      await world.harness.content?.write(ref, CLEAR)
      const before = await world.harness.content?.read(ref)
      const [sealed, opened] = [newId<string>(), newId<string>()]
      const there = world.neighbour
      const keyed = <T>(host: Driver, work: () => Promise<T>) => withKey(host, ref.id, work)
      const seal = () => volumes().carry!.pack(ref, sealed, signal(), { sealAs: AES_256 })
      await refused(seal(), 'conflict')
      for (const _ of [1, 2]) await keyed(world.driver, seal)
      const sizeBytes = await carried(sealed, there)
      expect(await beginning(world.driver, sealed)).not.toContain(CLEAR)
      await volumes().destroy(ref, signal())
      const spec = { ...ref, bytes, encryption: AES_256 }
      const from = { copy: { id: sealed, sizeBytes } }
      await keyed(there, () => there.volumes!.create({ ...spec, from }, signal()))
      expect(await reportOf(ref)).toMatchObject({ bytes })

      await there.volumes!.carry!.pack(ref, opened, signal())
      expect(await beginning(there, opened)).not.toContain(CLEAR)
      await there.volumes!.destroy(ref, signal())
      const part = { offset: 0, maxBytes: 1 }
      const { sizeBytes: size } = await there.volumes!.carry!.read(opened, part, signal())
      const back = { copy: { id: opened, sizeBytes: size }, sealedAs: AES_256 }
      await refused(there.volumes!.create({ ...ref, bytes, from: back }, signal()), 'conflict')
      await keyed(there, () => there.volumes!.create({ ...ref, bytes, from: back }, signal()))

      expect(await reportOf(ref)).toMatchObject({ bytes })
      if (before !== undefined) expect(await world.harness.content!.read(ref)).toEqual(before)
      await droppedOn(sealed, world.driver, there)
      await droppedOn(opened, there)
    })

    test('a volume that a guest has is refused, and a missing volume is not-found', async ({
      skip,
    }) => {
      if (volumes().carry === undefined) return skip()
      const volume = await newVolume()
      const guest = await newGuest()
      await volumes().attach(guest, attachment(volume), signal())
      const copy = newId<string>()

      await refused(volumes().carry!.pack(volume, copy, signal()), 'conflict')
      await refused(volumes().carry!.pack(newRef(), copy, signal()), 'not-found')

      await droppedOn(copy, world.driver)
    })
  })

  async function beginning(host: Driver, copy: string): Promise<string> {
    const part = { offset: 0, maxBytes: 8 * 1024 ** 2 }
    const { bytes } = await host.volumes!.carry!.read(copy, part, signal())
    return Buffer.from(bytes).toString('latin1')
  }

  /** Whether the copy shows the content of the volume in the clear. */
  async function holds(copy: string): Promise<boolean> {
    if (world.harness.sealed === undefined) return false
    const { bytes } = await volumes().carry!.read(
      copy,
      { offset: 0, maxBytes: 8 * CHUNK_BYTES },
      signal(),
    )
    return Buffer.from(bytes).includes(Buffer.alloc(512, 0x5a))
  }
}
