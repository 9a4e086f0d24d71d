import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AttachmentId, newId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver, InstanceSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { VolumeRef } from '#drivers/volumes.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { type PoolHosts, printed, startHosts } from './libvirt-pool-hosts.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const MIB = 1024 ** 2
const why = isFullRun ? whyNoGuests(COMMANDS) : 'not asked for'

const signal = () => AbortSignal.timeout(180_000)

/** What a guest reads at a block of its volume, past its own cache. */
const read = (driver: Driver, spec: InstanceSpec, block: number) =>
  printed(
    driver,
    spec,
    `echo 3 >/proc/sys/vm/drop_caches; { dd if=/dev/vdb bs=4096 skip=${block} count=1 2>/dev/null; echo none; } | head -n 1`,
  )
const write = (driver: Driver, spec: InstanceSpec, block: number, text: string) =>
  printed(
    driver,
    spec,
    `printf '${text}\\n' >/tmp/x; dd if=/tmp/x of=/dev/vdb seek=${block} bs=4096 conv=sync,notrunc,fsync 2>/dev/null; echo done`,
  )

describe.skipIf(why !== undefined)(
  `a volume that guests of libvirt hosts share${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let hosts: PoolHosts
    let volume: VolumeRef
    const share = (isReadOnly = false) => {
      const attachmentId = newId<AttachmentId>()
      return { ...volume, attachmentId, isReadOnly, isShared: true }
    }

    beforeAll(async () => {
      hosts = await startHosts()
      const { here } = hosts
      const [store] = await here.volumes!.stores(signal())
      expect(store).toMatchObject({ multiattach: true })
      volume = { store: store!.id, id: newId<VolumeId>() }
      await here.volumes!.create({ ...volume, bytes: 4 * MIB }, signal())
    }, 120_000)
    afterAll(() => hosts?.[Symbol.asyncDispose]())

    test('is written by one and read by the other, on two hosts, and nobody else gets it', async () => {
      const { here, there, one, two } = hosts
      const built = await buildGuestImage(GUEST_CACHE)
      const qcow2 = { ...built, diskFormat: 'qcow2', name: 'tiny' }
      const imageOf = ({ images }: PoolHosts['one']) => images.addFile(built.path, qcow2)
      const first = { ...instanceSpec(imageOf(one)), volumes: [share()] }
      const second = { ...instanceSpec(imageOf(two)), volumes: [share()] }
      await Promise.all([here.spawn(first, signal()), there.spawn(second, signal())])

      expect(await write(here, first, 1, 'of-the-first')).toBe('done')
      expect(await read(there, second, 1)).toBe('of-the-first')
      expect(await write(there, second, 2, 'of-the-second')).toBe('done')
      expect(await read(here, first, 2)).toBe('of-the-second')

      const lonely = { ...share(), isShared: false }
      const attempts = [
        () => here.spawn({ ...instanceSpec(hosts.image), volumes: [lonely] }, signal()),
        () => here.volumes!.snapshot(volume, newId<VolumeSnapshotId>(), signal()),
        () => here.volumes!.destroy(volume, signal()),
        () => there.volumes!.destroy(volume, signal()),
      ]
      for (const attempt of attempts)
        await expect(attempt()).rejects.toMatchObject({
          kind: 'conflict',
          message: expect.stringContaining(volume.id),
        })

      // One that may only read it sees it, and cannot write it.
      const reader = { ...instanceSpec(imageOf(one)), volumes: [share(true)] }
      await here.destroy(first.id, signal())
      await here.spawn(reader, signal())
      expect(await write(here, reader, 1, 'of-the-reader')).toBe('done')
      expect(await read(here, reader, 1)).toBe('of-the-first')
      expect(await write(there, second, 1, 'again')).toBe('done')
      expect(await read(here, reader, 1)).toBe('again')

      await there.volumes!.detach(second.id, second.volumes[0]!.attachmentId, signal())
      expect(await read(here, reader, 2)).toBe('of-the-second')
      await here.destroy(reader.id, signal())
      await there.destroy(second.id, signal())
      expect(await linesOf(join(hosts.pool, `weir-${one.owner.cellId}-${volume.id}`))).toEqual([
        'again',
        'of-the-second',
      ])
      await there.volumes!.destroy(volume, signal())
    }, 600_000)
  },
)

/** The first lines of its second and third blocks. */
async function linesOf(path: string): Promise<readonly string[]> {
  await using file = await open(path)
  const { buffer } = await file.read({ buffer: Buffer.alloc(12_288), position: 0 })
  return [1, 2].map((block) => buffer.toString('latin1', block * 4096).split('\n')[0]!)
}
