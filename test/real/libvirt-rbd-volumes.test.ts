import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type HostId, newId, type VolumeId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { type CephRbd, isCephRbdHere, startCephRbd } from '#test/env/ceph/rbd.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { driverVolumesContract } from '../contract/driver-volumes.contract.ts'
import type { VolumesHarness } from '../contract/volumes-world.ts'
import { startLibvirtHarness } from './libvirt-harness.ts'
import { giveRbdPool, rbdContent, rbdSettings } from './libvirt-rbd-harness.ts'
import { whyNoGuests } from './requirements.ts'

const MIB = 1024 ** 2
const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io', 'dnsmasq', 'genisoimage']
const why = isFullRun && isCephRbdHere() ? whyNoGuests(COMMANDS) : 'not asked for, or no Ceph'

interface World extends VolumesHarness {
  readonly ceph: CephRbd
  readonly specOf: ReturnType<typeof rbdContent>['specOf']
}

/** Two hosts over one daemon, with one pool of Ceph for both. */
async function startWorld(): Promise<World> {
  await using owned = new AsyncDisposableStack()
  const ceph = owned.use(await startCephRbd())
  const libvirt = owned.use(await startLibvirtHarness('rbd'))
  owned.use(await giveRbdPool(libvirt, ceph))
  const { owner } = libvirt
  const settings = rbdSettings(ceph)
  const { read, write, sealed, specOf, leftovers } = rbdContent(ceph, owner)
  const openFrom = (cellId: typeof owner.cellId) => {
    const other = { cellId, hostId: newId<HostId>() }
    return libvirt.openAs(other, settings, join(libvirt.directory, `state-${other.hostId}`))
  }
  const parts = owned.move()
  return {
    ...libvirt,
    ceph,
    specOf,
    open: () => libvirt.openAs(owner, settings),
    openNeighbour: () => openFrom(owner.cellId),
    openOtherCell: () => openFrom(newId()),
    leaveHalf: async (volume) => {
      await ceph.rbd('create', '--size', '1M', `${specOf(volume)}.part`)
    },
    volumeLeftovers: leftovers,
    content: { read, write },
    sealed,
    // Its guests have no operating system.
    guestsRelease: false,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

describe.skipIf(why !== undefined)(
  `volumes of libvirt hosts in a Ceph${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    driverVolumesContract('libvirt (rbd)', startWorld)

    test('copies of copies do not grow ever deeper, and nothing is left once all are gone', async () => {
      await using world = await startWorld()
      await using driver = await world.open()
      const volumes = driver.volumes!
      const signal = () => AbortSignal.timeout(60_000)
      const store = await waitFor(
        'a store',
        async () => (await volumes.stores(signal()))[0]?.id,
        60_000,
      )
      const chain = Array.from({ length: 6 }, () => ({ store, id: newId<VolumeId>(), bytes: MIB }))
      const [first, ...copies] = chain
      await volumes.create(first!, signal())
      await world.content!.write(first!, 'first')
      for (const [index, copy] of copies.entries())
        await volumes.create({ ...copy, from: { volume: chain[index]!.id } }, signal())

      const parents = await Promise.all(
        chain.map(async (each) => {
          const info = await world.ceph.rbd('info', '--format', 'json', world.specOf(each))
          return 'parent' in JSON.parse(info)
        }),
      )
      expect(parents).toEqual([false, true, true, true, true, false])
      for (const each of chain.slice(0, -1)) await volumes.destroy(each, signal())
      expect((await world.content!.read(chain.at(-1)!)).toString('latin1', 0, 5)).toBe('first')
      expect(await volumes.list(store, signal())).toMatchObject([{ id: chain.at(-1)!.id }])
      await volumes.destroy(chain.at(-1)!, signal())
      expect(await world.volumeLeftovers('weir' as VolumeId)).toEqual([])
    }, 300_000)
  },
)
