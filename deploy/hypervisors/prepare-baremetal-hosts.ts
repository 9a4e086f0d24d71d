import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import type { Layout } from '../deployment/layout.ts'
import { secretFile } from '../deployment/secret-file.ts'
import type { HostRecord } from '../deployment/state.ts'
import { DEMO_BOOT_URL, startDemoMachines } from '../machine/demo-machines.ts'
import { EMULATED_KERNEL } from '../machine/machine-files.ts'
import { endNamespace, runInside } from '../namespace/namespace.ts'
import {
  type JoinedHosts,
  joinNetwork,
  ovnSettings,
  switchFolder,
} from '../ovn/deployment-network.ts'
import { installPackages } from '../packages/install-packages.ts'
import { guestDirectory } from '../paths.ts'
import { buildRamdisk } from '../ramdisk/build-ramdisk.ts'
import type { PreparedHosts } from './prepare-hosts.ts'
import { switchNamespaces } from './switch-namespaces.ts'

type Settings = Readonly<Record<string, string>>

const KEY_BYTES = 32
const STEP_MS = 10_000

interface BaremetalHosts {
  readonly hosts: readonly HostRecord[]
  readonly given: Settings | undefined
  /** Undefined where the machines' network is the site's alone. */
  readonly joined: JoinedHosts | undefined
}

/**
 * Afterwards there is what each host's machines boot from. `given` are settings for machines there are, which an
 * operator enrols; without any, each host has simulated machines behind real IPMI.
 */
export async function prepareBaremetalHosts(
  layout: Layout,
  { hosts, given, joined }: BaremetalHosts,
  progress: (line: string) => void,
): Promise<PreparedHosts> {
  await installPackages(
    given === undefined ? ['baremetal', 'machines', 'libvirt'] : ['baremetal'],
    progress,
  )
  progress('Building the ramdisk that machines boot from the network ...')
  const { kernelPath, initrdPath } = await buildRamdisk(guestDirectory)
  const key = () => randomBytes(KEY_BYTES).toString('hex')
  const common = {
    ramdisk_kernel: kernelPath,
    ramdisk_initrd: initrdPath,
    secret_key_file: await secretFile(layout, 'bmc-passwords.key', key),
  }
  if (given !== undefined) {
    const [host, another] = hosts
    if (host === undefined || another !== undefined)
      throw new Failure('invalid', 'One boot server serves one address: join with --hosts 1.')
    return {
      settings: new Map([[host.id, { ...common, hostname: host.name, ...given }]]),
      guests: 'machines that are given with ./weir node add',
    }
  }
  const settings = new Map<string, Settings>()
  for (const { id, name } of hosts) {
    const site = joined && {
      holderPid: joined.network.underlay.holder.pid,
      bridge: joined.network.underlay.siteBridge,
    }
    const { bootPort } = await startDemoMachines(machinesDirectory(layout, name), site)
    const boot = {
      ...{ boot_url: DEMO_BOOT_URL, boot_address: '127.0.0.1', boot_port: String(bootPort) },
      kernel_append_params: EMULATED_KERNEL,
    }
    const network = joined && (await joinSwitch(layout, joined, { id, name }))
    settings.set(id, { ...common, ...boot, hostname: name, ...network })
  }
  return { settings, guests: 'simulated machines of QEMU behind real IPMI, emulated and slow' }
}

/** Afterwards the host has a switch of its own, which OVN joins to the cell; returned are the driver's settings for it. */
async function joinSwitch(
  layout: Layout,
  { network, state }: JoinedHosts,
  { id, name }: HostRecord,
): Promise<Settings> {
  const directory = switchFolder(layout, name)
  const holder = await switchNamespaces(directory)
  try {
    await runInside(holder, 'ip', ['link', 'set', 'lo', 'up'], { timeoutMs: STEP_MS })
    await joinNetwork(layout, state, network, { id, name, holder })
  } catch (error) {
    await endNamespace(holder)
    throw error
  }
  return ovnSettings(layout, name, holder)
}

/** Where a host's simulated machines are. */
export function machinesDirectory(layout: Layout, hostName: string): string {
  return join(layout.hosts, hostName, 'baremetal')
}
