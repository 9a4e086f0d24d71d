import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '#common/clock.ts'
import { newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { waitFor } from '#common/wait-for.ts'
import {
  endNamespace,
  type Holder,
  runInside,
  startNamespace,
} from '#deploy/namespace/namespace.ts'
import { type RunningOvnCentral, startOvnCentral } from '#deploy/ovn/central.ts'
import { computeChecksums, type RunningOvnHost, startOvnHost } from '#deploy/ovn/host.ts'
import { type RunningUnderlay, startUnderlay } from '#deploy/ovn/underlay.ts'
import { findProgram } from '#deploy/process/find-program.ts'
import { OvnEngine, type OvnEngineOptions, type PortBinding } from '#drivers/ovn/engine.ts'
import { INTEGRATION_BRIDGE } from '#drivers/ovn/integration-bridge.ts'
import { run } from '#drivers/run.ts'
import type { WirePort } from '#openapi/wire/network.ts'
import { type PingStream, startPingStream } from './ping-stream.ts'

const STEP_MS = 30_000
/** What udhcpc calls with a lease. */
const LEASE_SCRIPT = `#!/bin/sh
[ "$1" = bound ] || exit 0
ip address replace "$ip/$mask" dev "$interface"
ip link set "$interface" mtu "$mtu"
[ -z "$router" ] || ip route replace default via "$router"
echo "dns=$dns mtu=$mtu routes=$staticroutes"
`

export interface OvnTestHost {
  /** Its id in the cell. */
  readonly id: string
  readonly holder: Holder
  readonly ovn: RunningOvnHost
  /** Where its tunnels end. */
  readonly encapAddress: string
}

/** A network namespace whose interface is plugged into a port. */
export interface Endpoint {
  run(command: string, ...args: string[]): Promise<string>
  /** Takes an address by DHCP; returns what came with it. Throws when none came after so many seconds, 20 by default. */
  lease(seconds?: number): Promise<string>
  /** True if the address answers; `from`: one of its own addresses, or else the one its routes choose. */
  pings(address: string, from?: string): Promise<boolean>
  /** The page at the address, or nothing. */
  fetch(address: string): Promise<string>
  /** Answers HTTP from now on with this page. */
  serve(page: string): Promise<void>
  /** Pings the address from now on. */
  stream(address: string): Promise<PingStream>
}

export interface OvnWorldOptions {
  /** How many hosts it has beside its first two; absent: none. */
  readonly moreHosts?: number
  /** The first cell, whose underlay this one shares as a second cell; absent: it has its own. */
  readonly beside?: OvnWorld
  readonly onMovedAddresses?: OvnEngineOptions['onMovedAddresses']
}

/** The network of one cell, its hosts and an outside, in namespaces of the test's own. */
export class OvnWorld implements AsyncDisposable {
  readonly directory: string
  readonly underlay: RunningUnderlay
  readonly central: RunningOvnCentral
  readonly engine: OvnEngine
  readonly hosts: readonly [OvnTestHost, OvnTestHost, ...OvnTestHost[]]
  /** The newest of each port. */
  readonly bindings: ReadonlyMap<string, PortBinding>
  readonly #place: Place
  readonly #holders: Holder[] = []

  private constructor(place: Place, parts: Pick<OvnWorld, 'engine' | 'hosts' | 'bindings'>) {
    this.directory = place.directory
    this.underlay = place.underlay
    this.central = place.central
    this.#place = place
    this.engine = parts.engine
    this.hosts = parts.hosts
    this.bindings = parts.bindings
    this.#holders.push(...parts.hosts.map(({ holder }) => holder))
  }

  static async start({
    moreHosts = 0,
    beside,
    onMovedAddresses,
  }: OvnWorldOptions = {}): Promise<OvnWorld> {
    const directory = await mkdtemp(join(tmpdir(), 'weir-ovn-'))
    const [underlay, central] = await Promise.all([
      beside?.underlay ?? startUnderlay(join(directory, 'underlay')),
      startOvnCentral(join(directory, 'central')),
    ])
    const cell = beside === undefined ? 0 : 1
    const place: Place = { directory, underlay, central, cell }
    const start = (number: number) => startHost(place, newId(), number)
    const more = Array.from({ length: moreHosts }, (_, index) => start(3 + index))
    const [one, two, ...others] = await Promise.all([start(1), start(2), ...more])
    const hosts = [one, two, ...others] as const
    const bindings = new Map<string, PortBinding>()
    const engine = await OvnEngine.open({
      ...central,
      clock: systemClock,
      log: createLogger('ovn', process.env['TEST_LOG'] ?? 'silent'),
      onPort: (binding) => bindings.set(binding.portId, binding),
      ...(onMovedAddresses && { onMovedAddresses }),
    })
    await writeFile(join(directory, 'lease.sh'), LEASE_SCRIPT, { mode: 0o700 })
    return new OvnWorld(place, { engine, hosts, bindings })
  }

  /** Afterwards something is plugged into the port on this host. */
  async plug(host: OvnTestHost, port: WirePort): Promise<Endpoint> {
    const holder = await plugInto(host, port.id, port.mac)
    this.#holders.push(holder)
    return this.#endpoint(holder)
  }

  /** A device of this MAC address on the public network; with a VLAN on an access port of it, at the host's bridge. */
  async cable(mac: string, access?: { readonly host: OvnTestHost; readonly vlan: number }) {
    const holder = await startNamespace()
    this.#holders.push(holder)
    const outside = access?.host.holder ?? this.underlay.holder
    const link = (...args: string[]) =>
      run('nsenter', [`--net=/proc/${outside.pid}/ns/net`, 'ip', 'link', ...args], {
        timeoutMs: STEP_MS,
      })
    const end = `c${mac.replaceAll(':', '').slice(-8)}`
    const peer = ['peer', 'name', 'eth0', 'address', mac, 'netns', String(holder.pid)]
    await link('add', end, 'type', 'veth', ...peer)
    await link('set', end, 'up')
    if (access === undefined) await link('set', end, 'master', this.underlay.publicBridge)
    else await access.host.ovn.vsctl('add-port', 'br-public', end, `tag=${access.vlan}`)
    await runInside(holder, 'ip', ['link', 'set', 'eth0', 'up'], { timeoutMs: STEP_MS })
    await computeChecksums(holder, 'eth0')
    return this.#endpoint(holder)
  }

  /** What `ovn-nbctl` finds in a table, one row to a line. */
  async northbound(table: string, ...conditions: readonly string[]): Promise<string> {
    const find = ['--format=csv', '--no-headings', 'find', table, ...conditions]
    const args = [`--db=${this.central.northbound}`, ...find]
    return (await run(findProgram('ovn-nbctl'), args, { timeoutMs: STEP_MS })).stdout.trim()
  }

  /** The host, restarted in new namespaces from the files on its disk. */
  async returnHost({ id }: OvnTestHost): Promise<OvnTestHost> {
    const number = this.hosts.findIndex((host) => host.id === id) + 1
    const host = await startHost(this.#place, id, number)
    this.#holders.push(host.holder)
    return host
  }

  /** Ends the host with all that it has, as if its power were cut. */
  async loseHost({ holder }: OvnTestHost): Promise<void> {
    process.kill(holder.pid, 'SIGKILL')
    await endNamespace(holder)
  }

  /** The outside of all hosts, on the public network. */
  outside(): Endpoint {
    return this.#endpoint(this.underlay.holder)
  }

  /** The port of the public network's bridge behind which this MAC address was last seen. */
  async publicPort(mac: string): Promise<string | undefined> {
    const { holder, publicBridge } = this.underlay
    const args = ['fdb', 'show', 'br', publicBridge]
    const { stdout } = await runInside(holder, 'bridge', args, { timeoutMs: STEP_MS })
    return stdout
      .split('\n')
      .find((line) => line.startsWith(mac))
      ?.split(' ')[2]
  }

  /** That of this host. */
  publicPortOf({ pid }: Holder): string {
    return `${this.underlay.publicBridge.slice(0, 3)}${pid}`
  }

  #endpoint(holder: Holder): Endpoint {
    const inside = async (command: string, ...args: string[]) =>
      (await runInside(holder, command, args, { timeoutMs: STEP_MS })).stdout.trim()
    const script = join(this.directory, 'lease.sh')
    const lease = ['udhcpc', '-i', 'eth0', '-n', '-q', '-f', '-T', '1', '-O', '121', '-s', script]
    return {
      run: inside,
      lease: (seconds = 20) => inside('busybox', ...lease, '-t', String(seconds)),
      pings: (address, from) => {
        const source = from === undefined ? [] : ['-I', from]
        return inside('busybox', 'ping', '-c', '1', '-W', '1', ...source, address).then(
          () => true,
          () => false,
        )
      },
      fetch: (address) => {
        const host = address.includes(':') ? `[${address}]` : address
        return inside('curl', '-s', '--max-time', '2', `http://${host}/`).catch(() => '')
      },
      stream: async (address) =>
        startPingStream(inside, await mkdtemp(join(this.directory, 'ping-')), address),
      serve: async (page) => {
        const folder = await mkdtemp(join(this.directory, 'www-'))
        await writeFile(join(folder, 'index.html'), page)
        await inside('busybox', 'httpd', '-p', '80', '-h', folder)
      },
    }
  }

  /** The ids of the processes that hold the namespaces of the test. */
  holderPids(): readonly number[] {
    return [...this.#holders, this.underlay.holder].map(({ pid }) => pid)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.engine[Symbol.asyncDispose]()
    await Promise.all(this.#holders.map((holder) => endNamespace(holder)))
    await this.central.stop()
    if (this.#place.cell === 0) await this.underlay.stop()
    await rm(this.directory, { recursive: true, force: true })
  }
}

/** Afterwards new namespaces have an interface `eth0`, which is up, and is plugged into the port on this host. */
export async function plugInto(
  host: Pick<OvnTestHost, 'holder' | 'ovn'>,
  portId: string,
  mac: string,
): Promise<Holder> {
  const holder = await startNamespace()
  const name = `v${portId.slice(-8)}`
  const peer = ['peer', 'name', 'eth0', 'address', mac, 'netns', String(holder.pid)]
  const enter = [`--net=/proc/${host.holder.pid}/ns/net`, 'ip', 'link']
  await run('nsenter', [...enter, 'add', name, 'type', 'veth', ...peer], { timeoutMs: STEP_MS })
  await run('nsenter', [...enter, 'set', name, 'up'], { timeoutMs: STEP_MS })
  await runInside(holder, 'ip', ['link', 'set', 'eth0', 'up'], { timeoutMs: STEP_MS })
  await computeChecksums(holder, 'eth0')
  await host.ovn.vsctl(
    ...['--', 'add-port', 'br-int', name],
    ...['--', 'set', 'Interface', name, `external_ids:iface-id=${portId}`],
  )
  return holder
}

interface Place extends Pick<OvnWorld, 'directory' | 'underlay' | 'central'> {
  /** Of the two on the underlay. */
  readonly cell: 0 | 1
}

async function startHost(
  { directory, underlay, central, cell }: Place,
  id: string,
  number: number,
): Promise<OvnTestHost> {
  const encapAddress = tunnelAddress(cell, number)
  const holder = await startNamespace()
  const ovn = await startOvnHost({
    holder,
    directory: join(directory, `host-${number}`),
    chassis: id,
    southbound: central.southbound,
    underlay: { ...underlay, address: encapAddress },
    physicalNetworks: { public: underlay.publicBridge },
  })
  // ovn-controller makes it a moment after its start.
  const hasBridge = async () =>
    (await ovn.vsctl('list-br')).split('\n').includes(INTEGRATION_BRIDGE)
  await waitFor(`the integration bridge of host ${number}`, hasBridge, STEP_MS)
  return { id, holder, ovn, encapAddress }
}

function tunnelAddress(cell: number, number: number): string {
  return `10.255.${cell}.${number}`
}
