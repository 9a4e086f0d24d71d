import { join } from 'node:path'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { buildGuestImage } from '../guest/build-guest-image.ts'
import { startLibvirtHost } from '../libvirt-host/libvirt-host.ts'
import { installPackages } from '../packages/install-packages.ts'
import { guestDirectory } from '../paths.ts'
import { hostShare } from './host-share.ts'

type Settings = Readonly<Record<string, string>>

/**
 * Afterwards the hypervisor of every host runs; returns the settings of each host's driver by host id. A simulated
 * host needs none: the driver is the hypervisor.
 */
export async function prepareHosts(
  layout: Layout,
  state: DeploymentState,
  progress: (line: string) => void,
): Promise<ReadonlyMap<string, Settings>> {
  const hosts = state.cells.flatMap((cell) => cell.hosts)
  if (state.driver.name === 'fake')
    return new Map(hosts.map(({ id, name }) => [id, { hostname: name }]))
  await installPackages(['libvirt'], progress)
  progress('Building the guest image ...')
  const { kernelPath } = await buildGuestImage(guestDirectory)
  const share = hostShare(hosts.length, layout.home)
  progress(
    `Starting ${hosts.length} libvirt hosts, each with ${share.vcpus} vCPU, ${share.memoryMb} MiB ...`,
  )
  const settings = new Map<string, Settings>()
  await Promise.all(
    hosts.map(async ({ id, name }) => {
      const { uri } = await startLibvirtHost({
        directory: join(layout.hosts, name, 'libvirt'),
        name,
      })
      settings.set(id, {
        uri,
        probe_kernel: kernelPath,
        vcpus: String(share.vcpus),
        memory_mb: String(share.memoryMb),
        disk_gb: String(share.diskGb),
      })
    }),
  )
  return settings
}
