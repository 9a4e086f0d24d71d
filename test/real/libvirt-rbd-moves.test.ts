import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isCephRbdHere, startCephRbd } from '../env/ceph/rbd.ts'
import { isFullRun } from '../env/full-run.ts'
import { giveRbdPool } from './libvirt-rbd-harness.ts'
import { whyNoGuests } from './requirements.ts'
import { cephContent } from './store-content.ts'
import { StoreMoveCloud, type WrittenImage } from './store-move-cloud.ts'

// Goal: a volume goes from a folder of one host into a pool of Ceph that another host reaches, to a folder there, and back, with
// every byte, encrypted or not, and nothing is left where it was.

const COMMANDS = ['libvirtd', 'virsh', 'qemu-img', 'qemu-io']
const why = isFullRun && isCephRbdHere() ? whyNoGuests(COMMANDS) : 'not asked for, or no Ceph'

describe.skipIf(why !== undefined)(
  `volumes that move into a Ceph and out of it${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const owned = new AsyncDisposableStack()
    let stores: StoreMoveCloud
    let image: WrittenImage

    beforeAll(async () => {
      const ceph = owned.use(await startCephRbd())
      const other = {
        name: 'ceph',
        giveTo: (libvirt: Parameters<typeof giveRbdPool>[0]) => giveRbdPool(libvirt, ceph),
        settings: { ceph_programs: ceph.programs },
        content: (cellId: Parameters<typeof cephContent>[1]) => cephContent(ceph, cellId),
      }
      stores = owned.use(await StoreMoveCloud.start([{ name: 'north' }, { name: 'south', other }]))
      await stores.makeSealedType('sealed')
      await stores.makeSealedType('sealed-in-ceph', 'ceph')
      image = await stores.makeImage()
    }, 900_000)
    afterAll(() => owned.disposeAsync(), 120_000)

    test('a volume has every byte in each store, whether one host reaches both or none does', async () => {
      const volume = await stores.make({ imageRef: image.id, volume_type: 'north' })
      await stores.retype(volume, 'any')

      for (const store of ['ceph', 'south', 'ceph', 'north'] as const) {
        await stores.move(volume, store)
        await stores.expectContent(image, volume, store)
      }

      await stores.remove(volume)
      await stores.expectNothingLeft()
    }, 1_800_000)

    test('a volume in a folder is encrypted in Ceph, and plain again in a folder, with every byte', async () => {
      const volume = await stores.make({ imageRef: image.id, volume_type: 'south' })

      await stores.retype(volume, 'sealed-in-ceph')

      expect(await stores.show(volume)).toMatchObject({ encrypted: true })
      await stores.expectOnlyIn(volume, 'ceph')
      const copy = await stores.make({ source_volid: volume, volume_type: 'ceph' })
      await stores.expectContent(image, copy, 'ceph')
      await stores.remove(copy)
      await stores.retype(volume, 'south')
      await stores.expectOnlyIn(volume, 'south')
      await stores.expectContent(image, volume, 'south')
      expect(await stores.keys()).toEqual([])
      await stores.remove(volume)
      await stores.expectNothingLeft()
    }, 3_600_000)

    test('an encrypted volume has every byte in each store, and its key opens it', async () => {
      const plain = await stores.make({ imageRef: image.id, volume_type: 'north' })
      const volume = await stores.make({ source_volid: plain, volume_type: 'sealed' })

      for (const store of ['ceph', 'north'] as const) {
        await stores.move(volume, store)
        const copy = await stores.make({ source_volid: volume, volume_type: store })
        await stores.expectContent(image, copy, store)
        await stores.remove(copy)
      }

      for (const each of [volume, plain]) await stores.remove(each)
      await stores.expectNothingLeft()
    }, 3_600_000)
  },
)
