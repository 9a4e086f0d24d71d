import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '#drivers/run.ts'
import { type Holder, runInside } from '../namespace/namespace.ts'
import { findProgram } from '../process/find-program.ts'
import {
  type DaemonPlace,
  killDaemon,
  runOvn,
  startDaemon,
  startDatabase,
  takeFolder,
} from './daemons.ts'

/** The daemons of OVN that every host has. */
export type HostDaemon = 'vswitch' | 'vswitchd' | 'controller'

export interface OvnHostOptions {
  /** The namespaces that the host lives in. */
  readonly holder: Holder
  /** Short enough that a socket path below it fits (about 80 characters). */
  readonly directory: string
  /** The host's name in the cell's databases. */
  readonly chassis: string
  /** The address of the cell's southbound database, as OVN's tools write it. */
  readonly southbound: string
  /** The namespaces of the underlay's bridge, and the host's address on it. */
  readonly underlay: { readonly holder: Holder; readonly bridge: string; readonly address: string }
  /** Physical networks of the host, each with its bridge in the underlay's namespaces. */
  readonly physicalNetworks?: Readonly<Record<string, string>>
}

export interface RunningOvnHost {
  /** Runs `ovs-vsctl` on the host's switch. */
  vsctl(...args: string[]): Promise<string>
  kill(daemon: HostDaemon): Promise<void>
  /** Afterwards all daemons run; running ones are not touched. */
  start(): Promise<void>
}

const STEP_MS = 20_000
const SCHEMA = 'openvswitch/vswitch.ovsschema'
const UNDERLAY_MTU = 1_600
/** The NIC of a simulated host. */
const NIC = 'eth0'
/** The userspace datapath routes its tunnels itself, so their address is on a bridge of its own. */
const PHYSICAL_BRIDGE = 'br-phys'

/**
 * Afterwards the host's switch and controller run in its namespaces, with the datapath in userspace, and its tunnels end
 * at its address on the underlay. They end with the namespaces.
 */
export async function startOvnHost(options: OvnHostOptions): Promise<RunningOvnHost> {
  const { holder, directory, underlay } = options
  const place: DaemonPlace = { holder, directory }
  // The bridge's ports were interfaces that ended with their namespaces.
  if (await takeFolder(place)) await rm(join(directory, 'vswitch.db'), { force: true })
  const socket = join(directory, 'db.sock')
  const vsctl = (...args: string[]) => runOvn(place, 'ovs-vsctl', [`--db=unix:${socket}`, ...args])
  const uplinks = uplinksOf(options)
  const start = async () => {
    const database = startDatabase(place, { name: 'vswitch', schema: SCHEMA, socket })
    // Interfaces and the database have nothing to do with each other.
    const plugged = uplinks.map(({ uplink, to }) => plug(options, uplink, to))
    await Promise.all([database, ...plugged])
    await vsctl('--no-wait', '--', 'init', '--', 'set', 'Open_vSwitch', '.', ...settingsOf(options))
    await startDaemon(place, 'ovs-vswitchd', 'vswitchd', [
      `unix:${socket}`,
      '--disable-system',
      `--unixctl=${join(directory, 'vswitchd.ctl')}`,
    ])
    await vsctl(...uplinks.flatMap(({ bridge, uplink }) => userspaceBridge(bridge, uplink)))
    const ip = (...args: string[]) => runInside(holder, 'ip', args, { timeoutMs: STEP_MS })
    // The bridge's interface ends with ovs-vswitchd, and its address with it.
    await ip('address', 'replace', `${underlay.address}/16`, 'dev', PHYSICAL_BRIDGE)
    await ip('link', 'set', PHYSICAL_BRIDGE, 'mtu', String(UNDERLAY_MTU), 'up')
    await startDaemon(place, 'ovn-controller', 'controller', [`unix:${socket}`])
  }
  await start()
  return { vsctl, kill: (daemon) => killDaemon(place, daemon), start }
}

/** What ovn-controller reads from the host's own database. */
function settingsOf({
  chassis,
  southbound,
  underlay,
  physicalNetworks = {},
}: OvnHostOptions): readonly string[] {
  const ids = {
    'system-id': chassis,
    hostname: chassis,
    'ovn-remote': southbound,
    'ovn-encap-type': 'geneve',
    'ovn-encap-ip': underlay.address,
    'ovn-bridge-datapath-type': 'netdev',
    'ovn-is-interconn': 'true',
    'ovn-bridge-mappings': Object.keys(physicalNetworks)
      .map((network) => `${network}:${bridgeOf(network)}`)
      .join(','),
    // Where routers send from on this host: frames to a router's own address must go to the host that answers a machine.
    'ovn-chassis-mac-mappings': Object.keys(physicalNetworks)
      .map((network) => `${network}:${macOf(`router ${network}`, underlay.address)}`)
      .join(','),
  }
  return Object.entries(ids).map(([name, value]) => `external-ids:${name}="${value}"`)
}

/** The host's bridges: the interface that each has as its uplink, and the bridge of the underlay that this leads to. */
function uplinksOf({ underlay, physicalNetworks = {} }: OvnHostOptions) {
  return [
    { bridge: PHYSICAL_BRIDGE, uplink: NIC, to: underlay.bridge },
    ...Object.entries(physicalNetworks).map(([network, to]) => {
      return { bridge: bridgeOf(network), uplink: network, to }
    }),
  ]
}

/** Afterwards there is a bridge, with this interface of the host as its uplink. */
const userspaceBridge = (bridge: string, uplink: string) => [
  ...['--', '--may-exist', 'add-br', bridge],
  ...['--', 'set', 'bridge', bridge, 'datapath_type=netdev', 'fail-mode=standalone'],
  ...['--', '--may-exist', 'add-port', bridge, uplink],
]

const bridgeOf = (physicalNetwork: string) => `br-${physicalNetwork}`

/** Afterwards the host has an interface of this name, which is a port of a bridge in the underlay's namespaces. */
async function plug(
  { holder, underlay }: OvnHostOptions,
  name: string,
  bridge: string,
): Promise<void> {
  const isThere = await inNetwork(holder, 'ip', 'link', 'show', name).then(
    () => true,
    () => false,
  )
  if (isThere) return
  const port = `${bridge.slice(0, 3)}${holder.pid}`
  const mtu = String(UNDERLAY_MTU)
  const address = ['address', macOf(bridge, underlay.address)]
  const pair = ['type', 'veth', 'peer', 'name', name, ...address, 'mtu', mtu]
  const into = ['netns', String(holder.pid)]
  await inNetwork(underlay.holder, 'ip', 'link', 'add', port, 'mtu', mtu, ...pair, ...into)
  await inNetwork(underlay.holder, 'ip', 'link', 'set', port, 'master', bridge, 'up')
  await inNetwork(holder, 'ip', 'link', 'set', name, 'up')
  await computeChecksums(underlay.holder, port)
  await computeChecksums(holder, name)
}

/** The same at every start of the host, like the address of a real NIC: other hosts remember it for minutes. */
function macOf(bridge: string, address: string): string {
  const hex = createHash('sha256').update(`${bridge} ${address}`).digest('hex')
  // The second bit of the first byte marks an address that no maker of NICs assigned.
  return ['02', ...(hex.match(/../g) ?? []).slice(0, 5)].join(':')
}

/** Afterwards packets that leave through this interface have checksums: the userspace datapath drops packets without. */
export async function computeChecksums(holder: Holder, name: string): Promise<void> {
  await inNetwork(holder, findProgram('ethtool'), '-K', name, 'tx', 'off')
}

/** Runs in the network namespace only: `ip` finds another namespace by its PID on the machine. */
async function inNetwork(holder: Holder, ...command: string[]): Promise<void> {
  await run('nsenter', [`--net=/proc/${holder.pid}/ns/net`, ...command], { timeoutMs: STEP_MS })
}
