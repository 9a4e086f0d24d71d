import { join } from 'node:path'
import { describe } from 'vitest'
import { type HostId, newId } from '#common/ids.ts'
import { isCephRbdHere, startCephRbd } from '#test/env/ceph/rbd.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { driverVolumesContract } from '../contract/driver-volumes.contract.ts'
import type { VolumesHarness } from '../contract/volumes-world.ts'
import { startLibvirtHarness } from './libvirt-harness.ts'
import { giveRbdPool, rbdContent, rbdSettings } from './libvirt-rbd-harness.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io', 'dnsmasq', 'genisoimage']
const why = isFullRun && isCephRbdHere() ? whyNoGuests(COMMANDS) : 'not asked for, or no Ceph'

/** Two hosts over one daemon, with one pool of Ceph for both. */
async function startWorld(): Promise<VolumesHarness> {
  await using owned = new AsyncDisposableStack()
  const ceph = owned.use(await startCephRbd())
  const libvirt = owned.use(await startLibvirtHarness('rbd'))
  owned.use(await giveRbdPool(libvirt, ceph))
  const { owner } = libvirt
  const settings = rbdSettings(ceph)
  const { read, write, specOf, leftovers } = rbdContent(ceph, owner)
  const openFrom = (cellId: typeof owner.cellId) => {
    const other = { cellId, hostId: newId<HostId>() }
    return libvirt.openAs(other, settings, join(libvirt.directory, `state-${other.hostId}`))
  }
  const parts = owned.move()
  return {
    ...libvirt,
    open: () => libvirt.openAs(owner, settings),
    openNeighbour: () => openFrom(owner.cellId),
    openOtherCell: () => openFrom(newId()),
    leaveHalf: async (volume) => {
      await ceph.rbd('create', '--size', '1M', `${specOf(volume)}.part`)
    },
    volumeLeftovers: leftovers,
    content: { read, write },
    // Its guests have no operating system.
    guestsRelease: false,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

describe.skipIf(why !== undefined)(
  `volumes of libvirt hosts in a Ceph${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    driverVolumesContract('libvirt (rbd)', startWorld)
  },
)
