import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '#drivers/run.ts'
import { type Holder, runInside } from '../namespace/namespace.ts'
import { type DaemonPlace, killDaemon, runOvn, startDaemon, startDatabase } from './daemons.ts'

/** The daemons of OVN that every host has. */
export type HostDaemon = 'vswitch' | 'vswitchd' | 'controller'

export interface OvnHostOptions {
  /** The namespaces that the host lives in. */
  readonly holder: Holder
  /** Short enough that a socket path below it fits (about 80 characters). */
  readonly directory: string
  /** By which the cell's databases know the host. */
  readonly chassis: string
  /** Of the cell's southbound database, as OVN's tools write it. */
  readonly southbound: string
  /** The namespaces that the underlay's bridge is in, and the host's address on it. */
  readonly underlay: { readonly holder: Holder; readonly bridge: string; readonly address: string }
  /** Names of provider networks that this host is to reach by a bridge of this name. */
  readonly providerBridges?: Readonly<Record<string, string>>
}

export interface RunningOvnHost {
  /** Runs `ovs-vsctl` on the host's switch. */
  vsctl(...args: string[]): Promise<string>
  kill(daemon: HostDaemon): Promise<void>
  /** Afterwards all daemons run; those that do are left as they are. */
  start(): Promise<void>
}

const STEP_MS = 20_000
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
  const { holder, directory, chassis, southbound, underlay, providerBridges = {} } = options
  await mkdir(directory, { recursive: true, mode: 0o711 })
  const place: DaemonPlace = { holder, directory }
  const socket = join(directory, 'db.sock')
  const vsctl = (...args: string[]) => runOvn(place, 'ovs-vsctl', [`--db=unix:${socket}`, ...args])
  const start = async () => {
    const schema = 'openvswitch/vswitch.ovsschema'
    await startDatabase(place, { name: 'vswitch', schema, socket })
    const ids = {
      'system-id': chassis,
      hostname: chassis,
      'ovn-remote': southbound,
      'ovn-encap-type': 'geneve',
      'ovn-encap-ip': underlay.address,
      'ovn-bridge-datapath-type': 'netdev',
      'ovn-is-interconn': 'true',
      ...(Object.keys(providerBridges).length > 0 && {
        'ovn-bridge-mappings': Object.entries(providerBridges)
          .map(([network, bridge]) => `${network}:${bridge}`)
          .join(','),
      }),
    }
    const set = Object.entries(ids).map(([name, value]) => `external-ids:${name}="${value}"`)
    await vsctl('--no-wait', '--', 'init', '--', 'set', 'Open_vSwitch', '.', ...set)
    await startDaemon(place, 'ovs-vswitchd', 'vswitchd', [
      `unix:${socket}`,
      '--disable-system',
      `--unixctl=${join(directory, 'vswitchd.ctl')}`,
    ])
    await joinUnderlay(options, vsctl)
    for (const bridge of Object.values(providerBridges)) await vsctl(...userspaceBridge(bridge))
    await startDaemon(place, 'ovn-controller', 'controller', [`unix:${socket}`])
  }
  await start()
  return { vsctl, kill: (daemon) => killDaemon(place, daemon), start }
}

const userspaceBridge = (bridge: string) => [
  ...['--', '--may-exist', 'add-br', bridge],
  ...['--', 'set', 'bridge', bridge, 'datapath_type=netdev', 'fail-mode=standalone'],
]

/** Afterwards the host has a NIC on the underlay's bridge, and its address. */
async function joinUnderlay(
  { holder, underlay }: OvnHostOptions,
  vsctl: RunningOvnHost['vsctl'],
): Promise<void> {
  const inside = (command: string, ...args: string[]) =>
    runInside(holder, command, args, { timeoutMs: STEP_MS })
  const isThere = await inside('ip', 'link', 'show', NIC).then(
    () => true,
    () => false,
  )
  if (!isThere) {
    const port = `h${holder.pid}`
    const peer = ['peer', 'name', NIC, 'mtu', String(UNDERLAY_MTU), 'netns', String(holder.pid)]
    await inUnderlay(
      underlay.holder,
      'ip',
      'link',
      'add',
      port,
      'mtu',
      String(UNDERLAY_MTU),
      'type',
      'veth',
      ...peer,
    )
    await inUnderlay(underlay.holder, 'ip', 'link', 'set', port, 'master', underlay.bridge, 'up')
    await inside('ip', 'link', 'set', NIC, 'up')
  }
  await vsctl(
    ...userspaceBridge(PHYSICAL_BRIDGE),
    '--',
    '--may-exist',
    'add-port',
    PHYSICAL_BRIDGE,
    NIC,
  )
  await inside('ip', 'address', 'replace', `${underlay.address}/16`, 'dev', PHYSICAL_BRIDGE)
  await inside('ip', 'link', 'set', PHYSICAL_BRIDGE, 'mtu', String(UNDERLAY_MTU), 'up')
}

/** In its network namespace alone: PIDs, by which `ip` finds another namespace, are the machine's. */
async function inUnderlay(holder: Holder, ...command: string[]): Promise<void> {
  await run('nsenter', [`--net=/proc/${holder.pid}/ns/net`, ...command], { timeoutMs: STEP_MS })
}
