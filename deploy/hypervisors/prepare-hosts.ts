import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Layout } from '../deployment/layout.ts'
import { type DeploymentState, type HostRecord, launchedHosts } from '../deployment/state.ts'
import { startDockerEngine } from '../docker-engine/docker-engine.ts'
import { buildGuestImage, builtKernel } from '../guest/build-guest-image.ts'
import { startLibvirtHost } from '../libvirt-host/libvirt-host.ts'
import {
  type DeploymentNetwork,
  type JoinedHosts,
  joinNetwork,
  ovnSettings,
  switchFolder,
} from '../ovn/deployment-network.ts'
import { installPackages } from '../packages/install-packages.ts'
import { guestDirectory } from '../paths.ts'
import { describeShare, type HostShare, hostShare, shareSettings } from './host-share.ts'
import { prepareBaremetalHosts } from './prepare-baremetal-hosts.ts'
import { machineVirtType } from './virt-type.ts'

export interface PreparedHosts {
  /** Of each host's driver, by host id. */
  readonly settings: ReadonlyMap<string, Readonly<Record<string, string>>>
  /** For people: how guests run, and why so. */
  readonly guests?: string
}

/** Afterwards the hypervisor of every host runs. A simulated host needs none: the driver is the hypervisor. */
export async function prepareHosts(
  layout: Layout,
  state: DeploymentState,
  progress: (line: string) => void,
  network?: DeploymentNetwork,
): Promise<PreparedHosts> {
  const hosts = launchedHosts(state)
  const { name: driver, settings } = state.driver
  if (driver === 'fake')
    return { settings: new Map(hosts.map(({ id, name }) => [id, { hostname: name }])) }
  const joined = network && { network, state }
  if (driver === 'baremetal')
    return prepareBaremetalHosts(layout, { hosts, given: settings, joined }, progress)
  const share = state.hostShare ?? hostShare(hosts.length, layout.home)
  progress(`Starting ${hosts.length} ${driver} hosts, each with ${describeShare(share)} ...`)
  const prepare = driver === 'docker' ? prepareDockerHosts : prepareLibvirtHosts
  return prepare(layout, { hosts, share, joined }, progress)
}

interface SharedHosts {
  readonly hosts: readonly HostRecord[]
  readonly share: HostShare
  readonly joined: JoinedHosts | undefined
}

/** Afterwards a Docker engine of its own runs for each host. */
async function prepareDockerHosts(
  layout: Layout,
  { hosts, share, joined }: SharedHosts,
  progress: (line: string) => void,
): Promise<PreparedHosts> {
  await installPackages(['docker'], progress)
  const settings = await Promise.all(
    hosts.map(async ({ id, name }) => {
      const engine = await startDockerEngine(join(layout.hosts, name, 'docker'))
      const { endpoint, holder, pluginDirectory } = engine
      const own = { endpoint, hostname: name, ...shareSettings(share) }
      if (joined === undefined) return [id, own] as const
      await joinNetwork(layout, joined.state, joined.network, { id, name, holder })
      const network = {
        ...ovnSettings(layout, name, holder),
        plugin_directory: pluginDirectory,
      }
      return [id, { ...own, ...network }] as const
    }),
  )
  return { settings: new Map(settings), guests: 'containers of private Docker engines' }
}

/** Afterwards a libvirt daemon of its own runs for each host, and it is known how guests run. */
async function prepareLibvirtHosts(
  layout: Layout,
  { hosts, share, joined }: SharedHosts,
  progress: (line: string) => void,
): Promise<PreparedHosts> {
  await installPackages(['libvirt'], progress)
  if (!existsSync(await builtKernel(guestDirectory)))
    progress('Building the guest image, and trying whether KVM runs it ...')
  await buildGuestImage(guestDirectory)
  const verdict = await machineVirtType()
  if (verdict === undefined) throw new Error('QEMU and a guest are there, and nothing was tried')
  const settings = await Promise.all(
    hosts.map(async ({ id, name }) => {
      const directory = join(layout.hosts, name, 'libvirt')
      const openvswitch = joined && switchFolder(layout, name)
      const options = { directory, name, ...(openvswitch && { openvswitch }) }
      const { uri, holder } = await startLibvirtHost(options)
      if (joined !== undefined)
        await joinNetwork(layout, joined.state, joined.network, { id, name, holder })
      const own = { uri, virt_type: verdict.virtType, ...shareSettings(share) }
      const network = joined && { ...ovnSettings(layout, name, holder), ovs_datapath: 'netdev' }
      return [id, { ...own, ...network }] as const
    }),
  )
  const kind = verdict.virtType === 'kvm' ? 'under KVM' : 'emulated'
  return { settings: new Map(settings), guests: `${kind}: ${verdict.why}` }
}
