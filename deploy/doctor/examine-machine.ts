import { existsSync, statfsSync } from 'node:fs'
import { freemem } from 'node:os'
import { dirname } from 'node:path'
import type { Layout } from '../deployment/layout.ts'
import { DEFAULT_PORT } from '../deployment/plan.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { libvirtProblem } from '../hypervisors/choose-driver.ts'
import { machineVirtType } from '../hypervisors/virt-type.ts'
import { missingPackages } from '../packages/missing-packages.ts'
import type { Purpose } from '../packages/packages.ts'
import { programPath } from '../process/find-program.ts'
import { freePort } from '../process/free-port.ts'
import { isRunning } from '../process/process-identity.ts'
import type { Finding } from './finding.ts'

/** The first release in which running TypeScript directly is stable. */
const NODE_MIN = [24, 12] as const
const MEMORY_WANTED_MIB = 1_024
const DISK_WANTED_GIB = 3
const BYTES_PER_MIB = 1024 ** 2
const BYTES_PER_GIB = 1024 ** 3

/** Node, memory and disk space. */
export function examineMachine({ home }: Layout): readonly Finding[] {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const isNew = major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])
  const freeMib = Math.floor(freemem() / BYTES_PER_MIB)
  const { bavail, bsize } = statfsSync(existsSync(home) ? home : dirname(home))
  const freeGib = Math.floor((bavail * bsize) / BYTES_PER_GIB)
  return [
    enough(
      isNew,
      `Node ${process.version} at ${process.execPath}`,
      `at least ${NODE_MIN.join('.')}`,
    ),
    enough(freeMib >= MEMORY_WANTED_MIB, `${freeMib} MiB of memory free`, `${MEMORY_WANTED_MIB}`),
    enough(freeGib >= DISK_WANTED_GIB, `${freeGib} GiB of disk free`, `${DISK_WANTED_GIB}`),
  ]
}

function enough(isEnough: boolean, what: string, wanted: string): Finding {
  return isEnough ? { is: 'ok', what } : { is: 'bad', what: `${what}; wanted: ${wanted}` }
}

/** Whether servers can be real here, and how they run. */
export async function examineHypervisor(): Promise<Finding> {
  const problem = libvirtProblem()
  if (problem !== undefined) return { is: 'note', what: `only simulated servers: ${problem}` }
  const verdict = await machineVirtType()
  if (verdict === undefined)
    return { is: 'ok', what: 'real servers through libvirt; ./weir up tries whether KVM runs them' }
  const { virtType, why } = verdict
  if (virtType === 'kvm') return { is: 'ok', what: `real servers through libvirt and KVM: ${why}` }
  return { is: 'note', what: `real servers through libvirt, emulated and slow: ${why}` }
}

/** The text for each purpose, and the command that installs its missing packages. */
const PURPOSES: readonly (readonly [Purpose, what: string, command: string])[] = [
  ['base', 'MariaDB and NATS', './weir up'],
  ['libvirt', 'libvirt, QEMU and tools for guest images', './weir up'],
  ['ovn', 'Open vSwitch and OVN, for --network ovn', './weir up --network ovn'],
  ['docker', 'a Docker engine, for --driver docker', './weir up'],
  ['baremetal', 'boot files for bare metal', './weir up --driver baremetal'],
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

/** The ports gateways serve at, or would. Those of MariaDB and NATS are private, and change when they are taken. */
export async function examinePorts(state: DeploymentState | undefined): Promise<Finding[]> {
  const gateways = state?.gateways ?? [{ name: 'the first gateway', port: DEFAULT_PORT }]
  return Promise.all(gateways.map(({ name, port }) => examinePort(name, port, state)))
}

async function examinePort(
  name: string,
  port: number,
  state: DeploymentState | undefined,
): Promise<Finding> {
  const identity = state?.processes[name]
  if (identity !== undefined && isRunning(identity))
    return { is: 'ok', what: `port ${port}: ${name}` }
  if ((await freePort(port)) === port) return { is: 'ok', what: `port ${port}: free for ${name}` }
  return { is: 'note', what: `port ${port}: taken; ./weir up finds another one for ${name}` }
}
