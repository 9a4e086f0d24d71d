import { join } from 'node:path'
import type { DriverName } from '#drivers/driver.ts'
import type { Layout } from '../deployment/layout.ts'
import { type DeploymentState, launchedHosts } from '../deployment/state.ts'
import { stopDockerEngine } from '../docker-engine/docker-engine.ts'
import { stopLibvirtHost } from '../libvirt-host/libvirt-host.ts'
import { stopDemoMachines } from '../machine/demo-machines.ts'
import { switchFolder } from '../ovn/deployment-network.ts'
import { endSwitch } from './switch-namespaces.ts'

const STOPS: Readonly<Partial<Record<DriverName, (directory: string) => Promise<void>>>> = {
  baremetal: stopDemoMachines,
  docker: stopDockerEngine,
  libvirt: stopLibvirtHost,
}

/** Afterwards no hypervisor of the deployment runs, and so no guest; their disks and definitions are kept. */
export async function stopHosts(layout: Layout, state: DeploymentState): Promise<void> {
  const { name: driver } = state.driver
  const stop = STOPS[driver]
  if (stop === undefined) return
  const hosts = launchedHosts(state)
  await Promise.all(hosts.map(({ name }) => stop(join(layout.hosts, name, driver))))
  if (driver === 'baremetal')
    await Promise.all(hosts.map(({ name }) => endSwitch(switchFolder(layout, name))))
}
