import { describe } from 'vitest'
import { driverMovesContract } from '../contract/driver-moves.contract.ts'
import { startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'dnsmasq', 'genisoimage']
const why = whyNoGuests(COMMANDS)

describe.skipIf(why !== undefined)(
  `libvirt guests that change their host${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => driverMovesContract('libvirt', () => startLibvirtHarness('mover')),
)
