import { mkdir, open, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AttachmentId, newId, type VolumeId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver, ImageSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: a guest whose volume does not start any more is rescued with its disks as it knows them, and rebuilt on the same volume.

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 120_000
const MIB = 1024 ** 2
const SECTOR = 512
const POOL = { volumePools: ['shared'] }
const why = isFullRun ? whyNoGuests(COMMANDS) : 'not asked for'

describe.skipIf(why !== undefined)(
  `a guest of libvirt that starts from a volume${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let harness: LibvirtHarness
    let driver: Driver
    let image: ImageSpec
    let pool: string
    let store: string
    const signal = () => AbortSignal.timeout(90_000)

    beforeAll(async () => {
      const built = await buildGuestImage(GUEST_CACHE)
      harness = await startLibvirtHarness('volume-backed')
      image = harness.images.addFile(built.path, { ...built, diskFormat: 'qcow2' })
      pool = join(harness.directory, 'pool')
      await mkdir(pool, { mode: 0o711 })
      await harness.virsh('pool-define-as', 'shared', 'dir', '--target', pool)
      driver = await harness.openAs(harness.owner, POOL)
      store = (await driver.volumes!.stores(signal()))[0]!.id
    }, 300_000)
    afterAll(async () => {
      await driver?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
    })

    test('is rescued when the volume is broken, and rebuilt on it, also by a repeat', async () => {
      const [root, data] = [newId<VolumeId>(), newId<VolumeId>()]
      const volumes = driver.volumes!
      await volumes.create({ store, id: root, bytes: 64 * MIB, from: { image } }, signal())
      await volumes.create({ store, id: data, bytes: MIB }, signal())
      const attached = (id: VolumeId, isRoot: boolean) => ({
        ...{ store, id, attachmentId: newId<AttachmentId>(), isReadOnly: false, isShared: false },
        ...(isRoot && { isRoot: true as const }),
      })
      const spec = {
        ...instanceSpec({ ...image, sha256: '0'.repeat(64) }),
        volumes: [attached(root, true), attached(data, false)],
      }
      const { id } = spec
      const path = join(pool, `weir-${harness.owner.cellId}-${root}`)
      const consoleOf = async () =>
        Buffer.from(await driver.consoleLog!.read(id, 65_536, signal())).toString()
      /** What the guest has said since its newest start, once it is ready. */
      const boots = async (times: number) => {
        const starts = async () => (await consoleOf()).split('kernel up').slice(1)
        const isReady = async () => (await starts())[times - 1]?.includes('READY') === true
        await waitFor(`start ${times}`, isReady, BOOT_MS)
        return (await starts())[times - 1]!
      }
      await driver.spawn(spec, signal())
      expect(await boots(1)).toContain('boot 1 of this disk')

      await driver.stop(id, 0, signal())
      const file = await open(path, 'r+')
      await file.write(Buffer.alloc(SECTOR), 0, SECTOR, 0)
      await file.close()
      const properties = { hw_rescue_device: 'disk', hw_rescue_bus: 'virtio' }
      const rescue = { image: { ...image, properties }, graceMs: 0, adminPassword: null }
      for (const _ of [1, 2]) await driver.rescue!.rescue(id, rescue, signal())
      // Its own disks have the names that they had; that from which it started comes after them.
      expect(await boots(2)).toMatch(
        /disk vda 131072 sectors[^]*disk vdb 2048 sectors[^]*disk vdc [^]*boot 2 of this disk/,
      )
      await driver.rescue!.unrescue(id, signal())
      expect(await harness.virsh('dumpxml', `weir-${id}`)).not.toContain('rescue')

      const broken = await readFile(path)
      const rebuilt = (ending: AbortSignal) => {
        const how = { keepsEphemeral: false, runs: true, reimages: true }
        return driver.rebuild!.rebuild({ ...spec, image }, how, ending)
      }
      const dying = new AbortController()
      const interrupted = rebuilt(dying.signal).catch((error: unknown) => error)
      const isWriting = async () => (await readdir(pool)).some((name) => name.endsWith('.part'))
      await waitFor('the new content', isWriting, 30_000)
      dying.abort(new Error('killed'))
      expect(await interrupted).toMatchObject({ message: 'killed' })
      expect((await readFile(path)).equals(broken)).toBe(true)
      await rebuilt(signal())
      expect(await boots(3)).toContain('boot 1 of this disk')

      await driver.destroy(id, signal())
      for (const each of [root, data]) await volumes.destroy({ store, id: each }, signal())
      expect(await harness.leftovers(id)).toEqual([])
    }, 600_000)
  },
)
