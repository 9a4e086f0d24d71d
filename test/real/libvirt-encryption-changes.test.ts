import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CellId } from '#common/ids.ts'
import { run } from '#drivers/run.ts'
import { isFullRun } from '../env/full-run.ts'
import type { LibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'
import { folderContent } from './store-content.ts'
import { StoreMoveCloud, type WrittenImage } from './store-move-cloud.ts'

// Goal: a volume gets a type that encrypts it, and one that does not, with every byte each time; no file has its content in the
// clear that should not, its key is there exactly while it is encrypted, and where its new store fails it is as it was.

const COMMANDS = ['libvirtd', 'virsh', 'qemu-img', 'qemu-io']
const MOUNT_MS = 10_000
const MIB = 1024 ** 2
const why = isFullRun ? whyNoGuests(COMMANDS) : 'not asked for'

describe.skipIf(why !== undefined)(
  `volumes that are encrypted, and no more${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let attic: string
    let stores: StoreMoveCloud
    let image: WrittenImage

    beforeAll(async () => {
      const directory = await mkdtemp(join(tmpdir(), 'weir-encrypted-'))
      owned.defer(() => rm(directory, { recursive: true }))
      attic = join(directory, 'attic')
      const small = join(directory, 'small')
      for (const folder of [attic, small]) await mkdir(folder, { mode: 0o711 })
      await run('mount', ['-t', 'tmpfs', '-o', 'size=300m,mode=711', 'weir-small', small], {
        timeoutMs: MOUNT_MS,
      })
      owned.defer(async () => void (await run('umount', [small], { timeoutMs: MOUNT_MS })))
      const other = {
        name: 'attic',
        giveTo: async (libvirt: LibvirtHarness) => {
          await libvirt.virsh('pool-define-as', 'attic', 'dir', '--target', attic)
          return { [Symbol.asyncDispose]: async () => {} }
        },
        content: (cellId: CellId) => folderContent(attic, cellId),
      }
      const hosts = [
        { name: 'north', other },
        { name: 'small', folder: small },
      ]
      stores = owned.use(await StoreMoveCloud.start(hosts))
      await stores.makeSealedType('sealed', 'attic')
      await stores.makeSealedType('sealed-small', 'small')
      image = await stores.makeImage()
    }, 900_000)
    afterAll(() => owned.disposeAsync(), 120_000)

    /** Whether the file has what the image begins with. */
    async function isInClear(path: string): Promise<boolean> {
      const sought = Buffer.alloc(4096, 0xa5)
      for await (const part of createReadStream(path, { highWaterMark: MIB }))
        if ((part as Buffer).includes(sought)) return true
      return false
    }

    test('a volume is encrypted in another folder, and is plain again in its own, with every byte', async () => {
      const volume = await stores.make({ imageRef: image.id, volume_type: 'north' })
      const before = await stores.show(volume)
      expect(before).toMatchObject({ encrypted: false, bootable: 'true' })
      expect(await isInClear(String(await stores.contentOf('north').diskOf({ volume })))).toBe(true)

      await stores.retype(volume, 'sealed')

      expect(await stores.show(volume)).toMatchObject({ encrypted: true, volume_type: 'sealed' })
      await stores.expectOnlyIn(volume, 'attic')
      await stores.expectNoCopies()
      const [name = ''] = await stores.contentOf('attic').names()
      expect(name).toMatch(/\.luks$/)
      expect(await isInClear(join(attic, name))).toBe(false)
      expect(await stores.keys()).toEqual([volume])
      // Only a host with the key can make it.
      const copy = await stores.make({ source_volid: volume, volume_type: 'attic' })
      await stores.expectContent(image, copy, 'attic')
      await stores.remove(copy)

      await stores.retype(volume, 'north')

      await stores.expectOnlyIn(volume, 'north')
      await stores.expectContent(image, volume, 'north')
      expect(await stores.keys()).toEqual([])
      const { updated_at: _, links: __, ...same } = before!
      expect(await stores.show(volume)).toMatchObject(same)
      await stores.remove(volume)
      await stores.expectNothingLeft()
    }, 1_800_000)

    test('a volume whose new store fails is plain where it was, without a key', async () => {
      const volume = await stores.make({ imageRef: image.id, volume_type: 'north' })

      expect(await stores.tryRetype(volume, 'sealed-small')).toBe(false)

      expect(await stores.show(volume)).toMatchObject({ encrypted: false, volume_type: 'north' })
      expect(await stores.faultOf(volume)).toContain('The store has no room for the volume.')
      await stores.expectOnlyIn(volume, 'north')
      await stores.expectContent(image, volume, 'north')
      expect(await stores.keys()).toEqual([])
      await stores.remove(volume)
      await stores.expectNothingLeft()
    }, 1_800_000)
  },
)
