import { join } from 'node:path'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { stopLibvirtHost } from '../libvirt-host/libvirt-host.ts'

/** Afterwards no hypervisor of the deployment runs, and so no guest; their disks and definitions are kept. */
export async function stopHosts(layout: Layout, state: DeploymentState): Promise<void> {
  if (state.driver.name !== 'libvirt') return
  const hosts = state.cells.flatMap((cell) => cell.hosts)
  await Promise.all(hosts.map(({ name }) => stopLibvirtHost(join(layout.hosts, name, 'libvirt'))))
}
