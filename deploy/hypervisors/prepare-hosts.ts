import { launchedHosts } from '../deployment/launched-hosts.ts'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { describeShare, hostShare } from './host-share.ts'
import { prepareBaremetalHosts } from './prepare-baremetal-hosts.ts'
import { prepareDockerHosts } from './prepare-docker-hosts.ts'
import { prepareLibvirtHosts } from './prepare-libvirt-hosts.ts'

export interface PreparedHosts {
  /** Of each host's driver, by host id. */
  readonly settings: ReadonlyMap<string, Readonly<Record<string, string>>>
  /** For people: how guests run, and why so. */
  readonly guests?: string
}

const PREPARE = { docker: prepareDockerHosts, libvirt: prepareLibvirtHosts } as const

/** Afterwards the hypervisor of every host runs. A simulated host needs none: the driver is the hypervisor. */
export async function prepareHosts(
  layout: Layout,
  state: DeploymentState,
  progress: (line: string) => void,
): Promise<PreparedHosts> {
  const hosts = launchedHosts(state)
  const { name: driver, settings } = state.driver
  if (driver === 'fake')
    return { settings: new Map(hosts.map(({ id, name }) => [id, { hostname: name }])) }
  if (driver === 'baremetal') return prepareBaremetalHosts(layout, hosts, settings, progress)
  const share = state.hostShare ?? hostShare(hosts.length, layout.home)
  progress(`Starting ${hosts.length} ${driver} hosts, each with ${describeShare(share)} ...`)
  return PREPARE[driver](layout, hosts, share, progress)
}
