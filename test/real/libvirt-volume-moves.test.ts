import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe } from 'vitest'
import { type HostId, newId } from '#common/ids.ts'
import {
  driverVolumeMovesContract,
  type LinkedHosts,
} from '../contract/driver-volume-moves.contract.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io', 'genisoimage']
const why = whyNoGuests(COMMANDS)

/** Two daemons with one storage pool, which each of them knows by a path of its own. */
async function startHosts(): Promise<LinkedHosts> {
  const one = await startLibvirtHarness('leaver')
  const two = await startLibvirtHarness('taker')
  const { cellId } = one.owner
  const open = (harness: LibvirtHarness) =>
    harness.openAs({ cellId, hostId: newId<HostId>() }, { volumePools: ['shared'] })
  const pools = [join(one.directory, 'pool'), join(two.directory, 'mounted')] as const
  await mkdir(pools[0], { mode: 0o711 })
  await symlink(...pools)
  await one.virsh('pool-define-as', 'shared', 'dir', '--target', pools[0])
  await two.virsh('pool-define-as', 'shared', 'dir', '--target', pools[1])
  const [here, there] = [await open(one), await open(two)]
  const disposeAll = async () => {
    for (const each of [here, there, one, two]) await each[Symbol.asyncDispose]()
  }
  return { here, there, image: one.image, [Symbol.asyncDispose]: disposeAll }
}

describe.skipIf(why !== undefined)(
  `guests with volumes on libvirt hosts${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => driverVolumeMovesContract('libvirt', startHosts),
)
