import { missingPackages } from '../packages/missing-packages.ts'
import type { Purpose } from '../packages/packages.ts'
import { programPath } from '../process/find-program.ts'
import type { Finding } from './finding.ts'

/** What each purpose is, and which command installs what it misses. */
const PURPOSES: readonly (readonly [Purpose, what: string, command: string])[] = [
  ['base', 'MariaDB and NATS', './weir up'],
  ['libvirt', 'libvirt, QEMU and what guests are built from', './weir up'],
  ['docker', 'a Docker engine, for --driver docker', './weir up'],
  ['baremetal', 'what machines boot from the network', './weir up --driver baremetal'],
  ['machines', 'simulated machines with BMCs', './weir up --driver baremetal'],
  ['clients', 'the openstack command', './weir test'],
]

/** Packages that are missing, and whether Weir can install them. */
export function examinePackages(): readonly Finding[] {
  const canInstall = process.getuid?.() === 0 && programPath('apt-get') !== undefined
  return PURPOSES.map(([purpose, what, command]): Finding => {
    const names = missingPackages([purpose]).map(({ name }) => name)
    if (names.length === 0) return { is: 'ok', what: `${what}: installed` }
    const missing = `${what}: missing ${names.join(' ')}`
    if (canInstall) return { is: 'note', what: `${missing} (${command} installs them)` }
    // Without them servers are simulated, and no client of ours is needed.
    return { is: purpose === 'base' ? 'bad' : 'note', what: missing }
  })
}
