import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import type { Layout } from '../deployment/layout.ts'
import { secretFile } from '../deployment/secret-file.ts'
import type { HostRecord } from '../deployment/state.ts'
import { DEMO_BOOT_URL, startDemoMachines } from '../machine/demo-machines.ts'
import { installPackages } from '../packages/install-packages.ts'
import { guestDirectory } from '../paths.ts'
import { buildRamdisk } from '../ramdisk/build-ramdisk.ts'
import type { PreparedHosts } from './prepare-hosts.ts'

type Settings = Readonly<Record<string, string>>

const KEY_BYTES = 32

/**
 * Afterwards there is what each host's machines boot from. `given` are settings for machines there are, which an
 * operator enrols; without any, each host has simulated machines behind real IPMI.
 */
export async function prepareBaremetalHosts(
  layout: Layout,
  hosts: readonly HostRecord[],
  given: Settings | undefined,
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
    const { bootPort } = await startDemoMachines(machinesDirectory(layout, name))
    const boot = { boot_url: DEMO_BOOT_URL, boot_address: '127.0.0.1', boot_port: String(bootPort) }
    settings.set(id, { ...common, ...boot, hostname: name })
  }
  return { settings, guests: 'simulated machines of QEMU behind real IPMI, emulated and slow' }
}

/** Where a host's simulated machines are. */
export function machinesDirectory(layout: Layout, hostName: string): string {
  return join(layout.hosts, hostName, 'baremetal')
}
