import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { buildGuestImage, builtKernel } from '../guest/build-guest-image.ts'
import { startLibvirtHost } from '../libvirt-host/libvirt-host.ts'
import { installPackages } from '../packages/install-packages.ts'
import { guestDirectory } from '../paths.ts'
import { type HostShare, hostShare } from './host-share.ts'
import { machineVirtType } from './virt-type.ts'

type Settings = Readonly<Record<string, string>>

export interface PreparedHosts {
  /** Of each host's driver, by host id. */
  readonly settings: ReadonlyMap<string, Settings>
  /** For people: how guests run, and why so. */
  readonly guests?: string
}

/** Afterwards the hypervisor of every host runs. A simulated host needs none: the driver is the hypervisor. */
export async function prepareHosts(
  layout: Layout,
  state: DeploymentState,
  progress: (line: string) => void,
): Promise<PreparedHosts> {
  const hosts = state.cells.flatMap((cell) => cell.hosts)
  if (state.driver.name === 'fake')
    return { settings: new Map(hosts.map(({ id, name }) => [id, { hostname: name }])) }
  await installPackages(['libvirt'], progress)
  if (!existsSync(await builtKernel(guestDirectory)))
    progress('Building the guest image, and trying whether KVM runs it ...')
  await buildGuestImage(guestDirectory)
  const virtType = await machineVirtType()
  if (virtType === undefined) throw new Error('QEMU and a guest are there, and nothing was tried')
  const share = state.hostShare ?? hostShare(hosts.length, layout.home)
  progress(`Starting ${hosts.length} libvirt hosts, each with ${described(share)} ...`)
  const settings = new Map<string, Settings>()
  await Promise.all(
    hosts.map(async ({ id, name }) => {
      const directory = join(layout.hosts, name, 'libvirt')
      const { uri } = await startLibvirtHost({ directory, name })
      settings.set(id, {
        uri,
        virt_type: virtType.virtType,
        vcpus: String(share.vcpus),
        memory_mb: String(share.memoryMb),
        disk_gb: String(share.diskGb),
      })
    }),
  )
  const kind = virtType.virtType === 'kvm' ? 'under KVM' : 'emulated'
  return { settings, guests: `${kind}: ${virtType.why}` }
}

function described({ vcpus, memoryMb, diskGb }: HostShare): string {
  return `${vcpus} vCPU, ${memoryMb} MiB, ${diskGb} GB`
}
