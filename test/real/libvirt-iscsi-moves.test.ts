import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CellId, HostId, VolumeId } from '#common/ids.ts'
import { CONTENT_AT } from '#drivers/libvirt/volumes/iscsi/lun-label.ts'
import { run } from '#drivers/run.ts'
import { isFullRun } from '../env/full-run.ts'
import { type IscsiTarget, isTargetHere, startTarget } from '../env/iscsi/target.ts'
import type { LibvirtHarness } from './libvirt-harness.ts'
import { giveIscsiPool, lunContent, lunDisks, partOf } from './libvirt-iscsi-harness.ts'
import { whyNoGuests } from './requirements.ts'
import { StoreMoveCloud, type WrittenImage } from './store-move-cloud.ts'

// Goal: a volume goes from a folder of one host onto an iSCSI LUN that another host reaches, to a folder there, and back, by a
// change of type and by an operator, with every byte; its LUN is empty and free afterwards; and where a store fails on the way,
// the volume is whole where it was.

const MIB = 1024 ** 2
const GIB = 1024 * MIB
const COMMANDS = ['libvirtd', 'virsh', 'qemu-img', 'qemu-io']
const MOUNT_MS = 10_000
const COMPARE_MS = 300_000
const poll = { timeout: 120_000, interval: 500 }
const why =
  isFullRun && isTargetHere() ? whyNoGuests(COMMANDS) : 'not asked for, or no target of iSCSI'

describe.skipIf(why !== undefined)(
  `volumes that move onto iSCSI LUNs and away${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let directory: string
    let target: IscsiTarget
    let stores: StoreMoveCloud
    let image: WrittenImage

    beforeAll(async () => {
      directory = await mkdtemp(join(tmpdir(), 'weir-lun-moves-'))
      owned.defer(() => rm(directory, { recursive: true }))
      const folder = owned.use(await smallDisk('folder', '300m')).path
      const lunFolder = owned.use(await smallDisk('lun', '32m')).path
      // One LUN is large enough, so that each volume gets the one that the last has left.
      target = owned.use(await startTarget({ sizes: [GIB + 2 * MIB, 512 * MIB] }))
      const lun = join(lunFolder, 'lun')
      await writeFile(lun, '')
      await truncate(lun, GIB + MIB)
      badLun = lun
      const luns = {
        name: 'luns',
        giveTo: (libvirt: LibvirtHarness) =>
          giveIscsiPool(libvirt, target, 'iqn.2026-01.org.example:host'),
        content: (cellId: CellId) => lunDisks(target, cellId),
      }
      const hosts = [{ name: 'north' }, { name: 'south', other: luns }, { name: 'small', folder }]
      stores = owned.use(await StoreMoveCloud.start(hosts))
      await stores.makeSealedType('sealed', 'south')
      image = await stores.makeImage()
    }, 900_000)
    afterAll(() => owned.disposeAsync(), 120_000)

    /** A LUN whose disk has less room than it says. */
    let badLun: string

    /** A file system that is full soon. */
    async function smallDisk(name: string, size: string) {
      const path = await mkdtemp(join(directory, name))
      const options = ['-o', `size=${size},mode=711`]
      await run('mount', ['-t', 'tmpfs', ...options, 'weir-small', path], { timeoutMs: MOUNT_MS })
      return {
        path,
        [Symbol.asyncDispose]: async () =>
          void (await run('umount', [path], { timeoutMs: MOUNT_MS })),
      }
    }

    const luns = () =>
      lunContent(target, { cellId: stores.cloud.cells[0]!.id, hostId: '' as HostId })

    /** Afterwards no volume has the LUN, all of whose content is zeros. */
    async function expectFree(path: string): Promise<void> {
      const useOf = async () => (await luns().labels()).find((lun) => lun.path === path)?.label?.use
      await expect.poll(useOf, poll).toBeUndefined()
      const empty = join(directory, 'empty')
      await writeFile(empty, '')
      await truncate(empty, GIB)
      const content = partOf(path, CONTENT_AT, GIB)
      const args = ['compare', '-f', 'raw', '-F', 'raw', content, empty]
      await run('qemu-img', args, { timeoutMs: COMPARE_MS })
    }

    test("a volume gets a type of LUNs and back, with every byte, and its LUN is the next one's", async () => {
      const volume = await stores.make({ imageRef: image.id, volume_type: 'north' })
      const before = await stores.show(volume)

      for (const [there, back] of [
        ['luns', 'south'],
        ['luns', 'north'],
      ] as const) {
        await stores.retype(volume, there)
        await stores.expectOnlyIn(volume, there)
        await stores.expectContent(image, volume, there)
        expect(await stores.show(volume)).toMatchObject({ volume_type: there, bootable: 'true' })
        const { path, use } = await luns().lunOf(volume as VolumeId)
        expect(use).toMatchObject({ state: 'ready', bytes: GIB })

        await stores.retype(volume, back)
        await stores.expectOnlyIn(volume, back)
        await stores.expectContent(image, volume, back)
        await expectFree(path)
      }

      const { updated_at: _, links: __, ...same } = before!
      expect(await stores.show(volume)).toMatchObject(same)
      await stores.remove(volume)
      await stores.expectNothingLeft()
    }, 1_200_000)

    test('an operator moves a volume onto a LUN and away', async () => {
      const volume = await stores.make({ imageRef: image.id, volume_type: 'any' })
      await stores.move(volume, 'luns')
      await stores.expectContent(image, volume, 'luns')

      await stores.move(volume, 'north')

      await stores.expectContent(image, volume, 'north')
      await stores.remove(volume)
      await stores.expectNothingLeft()
    }, 1_200_000)

    test('a volume on a LUN is encrypted in a folder, and plain again on the LUN, with every byte', async () => {
      const volume = await stores.make({ imageRef: image.id, volume_type: 'north' })
      await stores.retype(volume, 'luns')
      const { path } = await luns().lunOf(volume as VolumeId)

      await stores.retype(volume, 'sealed')

      expect(await stores.show(volume)).toMatchObject({ encrypted: true, volume_type: 'sealed' })
      await stores.expectOnlyIn(volume, 'south')
      await expectFree(path)
      await stores.retype(volume, 'luns')
      await stores.expectOnlyIn(volume, 'luns')
      await stores.expectContent(image, volume, 'luns')
      expect(await stores.keys()).toEqual([])
      await stores.remove(volume)
      await stores.expectNothingLeft()
    }, 1_800_000)

    test('a volume whose new store fails on the way is whole where it was', async () => {
      const volume = await stores.make({ imageRef: image.id, volume_type: 'north' })
      await stores.retype(volume, 'any')
      await stores.move(volume, 'luns')

      const full = await stores.tryMove(volume, 'small')

      expect(full).toMatchObject({ state: 'failed' })
      expect(full.message).toContain('The store has no room for the volume.')
      await stores.expectOnlyIn(volume, 'luns')
      await stores.expectContent(image, volume, 'luns')
      await stores.move(volume, 'north')
      // It is the smaller one of those that are large enough, and so the first to be taken.
      await target.addLun(badLun)

      const failed = await stores.tryMove(volume, 'luns')

      expect(failed).toMatchObject({ state: 'failed', message: expect.stringMatching(/qemu-i/) })
      await stores.expectOnlyIn(volume, 'north')
      await stores.expectContent(image, volume, 'north')
      await stores.remove(volume)
      await stores.expectNothingLeft()
    }, 1_200_000)
  },
)
