import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AttachmentId, newId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver, ImageSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { VolumeKey } from '#drivers/volumes.ts'
import { isFullRun } from '../env/full-run.ts'
import { printed, startHosts } from './libvirt-pool-hosts.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: no file shows what a guest writes to an encrypted volume, and the guest reads it on every host.

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 180_000
const MIB = 1024 ** 2
const MARKER = 'the-guest-wrote-this'
const encryption = { keyBits: 256 } as const
const why = isFullRun ? whyNoGuests(COMMANDS) : 'not asked for'

describe.skipIf(why !== undefined)(
  `encrypted volumes of libvirt guests${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let world: Awaited<ReturnType<typeof startHosts>>
    let image: ImageSpec
    let store: string
    const signal = () => AbortSignal.timeout(BOOT_MS)

    beforeAll(async () => {
      world = await startHosts()
      const built = await buildGuestImage(GUEST_CACHE)
      image = world.one.images.addFile(built.path, { ...built, diskFormat: 'qcow2', name: 'tiny' })
      store = (await world.here.volumes!.stores(signal()))[0]!.id
    }, 300_000)
    afterAll(() => world?.[Symbol.asyncDispose]())

    const newKey = (): VolumeKey => ({ id: newId<VolumeId>(), key: newId<string>().repeat(2) })
    const withKeys = async <T>(on: Driver, keys: readonly VolumeKey[], work: () => Promise<T>) => {
      const holder = newId<string>()
      await on.volumes!.keys!.hold(holder, keys, signal())
      try {
        return await work()
      } finally {
        await on.volumes!.keys!.drop(holder, signal())
      }
    }
    const fileOf = (id: VolumeId, more = '.luks') =>
      readFile(join(world.pool, `weir-${world.one.owner.cellId}-${id}${more}`))
    const attachment = (id: VolumeId) => {
      const attachmentId = newId<AttachmentId>()
      return { store, id, attachmentId, isReadOnly: false, isShared: false }
    }

    async function expectSealed(id: VolumeId, more?: string): Promise<void> {
      const bytes = await fileOf(id, more)
      expect(bytes.subarray(0, 6).toString('latin1')).toBe('LUKS\xba\xbe')
      expect(bytes.includes(MARKER)).toBe(false)
    }

    test('a guest starts from one, writes to another, and has both on the next host', async () => {
      const { here, there, one } = world
      const [root, data, copy] = [newKey(), newKey(), newKey()]
      const volumes = here.volumes!
      const bytes = 64 * MIB
      await withKeys(here, [root], () =>
        volumes.create({ store, id: root.id, bytes, encryption, from: { image } }, signal()),
      )
      await withKeys(here, [data], () =>
        volumes.create({ store, id: data.id, bytes: 8 * MIB, encryption }, signal()),
      )
      const gone = { ...image, sha256: '0'.repeat(64) }
      const boot = { ...attachment(root.id), isRoot: true as const }
      const other = attachment(data.id)
      const spec = { ...instanceSpec(gone), volumes: [boot] }
      await withKeys(here, [root], () => here.spawn(spec, signal()))
      await withKeys(here, [data], () => volumes.attach(spec.id, other, signal()))
      expect(await one.virsh('secret-list')).not.toMatch(/weir-/)

      const write = `printf ${MARKER} | dd of=/dev/vdb conv=fsync 2>/dev/null; echo wri''tten`
      expect(await printed(here, spec, write)).toBe('written')
      await expectSealed(data.id)
      await volumes.extend({ store, id: data.id }, 16 * MIB, signal())
      expect(await printed(here, spec, 'cat /sys/block/vdb/size')).toBe(String((16 * MIB) / 512))

      const snapshot = newId<VolumeSnapshotId>()
      await withKeys(here, [data], () =>
        volumes.snapshot({ store, id: data.id }, snapshot, signal()),
      )
      await expectSealed(data.id, `.${snapshot}`)
      const read = `dd if=/dev/vdb bs=1 count=${MARKER.length} 2>/dev/null; echo`
      await volumes.detach(spec.id, other.attachmentId, signal())
      await withKeys(here, [data], () => volumes.attach(spec.id, other, signal()))
      expect(await printed(here, spec, read)).toBe(MARKER)

      const moving = { ...spec, volumes: [boot, other] }
      await there.volumes!.keys!.hold('move', [root, data], signal())
      const announced = await here.liveMove!.announce(spec.id, signal())
      const expected = await there.liveMove!.expect(moving, announced, signal())
      await here.liveMove!.send(spec.id, expected, signal())
      await there.liveMove!.finish(moving, true, signal())
      await there.volumes!.keys!.drop('move', signal())
      expect(await printed(there, spec, read)).toBe(MARKER)
      await here.destroy(spec.id, signal())
      await there.stop(spec.id, 0, signal())
      await expect(there.start(spec.id, signal())).rejects.toThrow()
      await withKeys(there, [root, data], () => there.start(spec.id, signal()))
      expect(await printed(there, spec, read)).toBe(MARKER)

      await there.destroy(spec.id, signal())
      const from = { volume: data.id, snapshot }
      await withKeys(here, [data, copy], () =>
        volumes.create({ store, id: copy.id, bytes: 16 * MIB, encryption, from }, signal()),
      )
      const again = { ...instanceSpec(image), volumes: [attachment(copy.id)] }
      await withKeys(here, [copy], () => here.spawn(again, signal()))
      expect(await printed(here, again, read)).toBe(MARKER)
      await expectSealed(copy.id)
      await here.destroy(again.id, signal())
      await volumes.destroySnapshot({ store, id: data.id }, snapshot, signal())
      for (const { id } of [root, data, copy]) await volumes.destroy({ store, id }, signal())
    }, 900_000)
  },
)
