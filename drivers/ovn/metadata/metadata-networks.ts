import type { Server, Socket } from 'node:net'
import { systemClock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import type { NetworkId } from '#common/ids.ts'
import { createLogger, type Logger } from '#common/log.ts'
import { metadataPort } from '#openapi/wire/metadata-port.ts'
import type { GuestMetadata, ServedNetworks } from '../../guest-metadata.ts'
import { KeyedLock } from '../../keyed-lock.ts'
import { run } from '../../run.ts'
import { HostLinks } from '../host-links.ts'
import type { OvnHostSettings } from '../host-settings.ts'
import { IntegrationBridge, OVS_DATABASE } from '../integration-bridge.ts'
import { METADATA_ADDRESS, METADATA_ADDRESS_V6 } from '../northbound/metadata-addresses.ts'
import { openSockets } from './open-sockets.ts'

const STEP_MS = 10_000
/** Of the interfaces by which networks reach the service. */
const PREFIX = 'wm-'
const INSIDE = 'eth0'

/**
 * The metadata service's place in the networks of a host: for each network a namespace that has the service's addresses
 * and is plugged in as the network's port for it. A namespace ends with the sockets in it, and so with this process.
 */
export function ovnGuestMetadata(
  settings: OvnHostSettings,
  log: Logger = createLogger('ovs', 'silent'),
): GuestMetadata {
  return { open: (onConnection) => new MetadataNetworks(settings, log, onConnection) }
}

class MetadataNetworks implements ServedNetworks {
  readonly #links: HostLinks
  readonly #onConnection: (connection: Socket, networkId: NetworkId) => void
  readonly #bridge: IntegrationBridge
  readonly #lock = new KeyedLock<'networks'>()
  readonly #servers = new Map<NetworkId, readonly Server[]>()

  constructor(
    { ovsDatabase: address = OVS_DATABASE, networkNamespace }: OvnHostSettings,
    log: Logger,
    onConnection: (connection: Socket, networkId: NetworkId) => void,
  ) {
    this.#links = new HostLinks(networkNamespace)
    this.#onConnection = onConnection
    this.#bridge = new IntegrationBridge({ address, clock: systemClock, log })
  }

  async serve(networks: ReadonlySet<NetworkId>, signal: AbortSignal): Promise<void> {
    await this.#lock.run('networks', signal, async () => {
      const plugged = await this.#bridge.plugged()
      const names = new Set([...networks].map(interfaceOf))
      for (const { name } of plugged)
        if (name.startsWith(PREFIX) && !names.has(name)) await this.#bridge.unplug(name, signal)
      for (const [networkId, servers] of this.#servers)
        if (!networks.has(networkId)) await this.#end(networkId, servers, signal)
      for (const networkId of networks) {
        if (!this.#servers.has(networkId)) await this.#begin(networkId, signal)
        else if (!plugged.some(({ name }) => name === interfaceOf(networkId)))
          await this.#plug(networkId, signal)
      }
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (this.#servers.size > 0) await this.serve(new Set(), AbortSignal.timeout(STEP_MS))
    } catch (error) {
      // The namespaces end with the process, and the next process unplugs what is left.
      if (!(error instanceof Failure)) throw error
    } finally {
      await this.#bridge[Symbol.asyncDispose]()
    }
  }

  /** Plugged in last: a connection must not reach the program that opens the sockets. */
  async #begin(networkId: NetworkId, signal: AbortSignal): Promise<void> {
    const addresses = [METADATA_ADDRESS, `${METADATA_ADDRESS_V6}%${INSIDE}`]
    const servers = await openSockets(
      addresses,
      (pid) => this.#addInterface(networkId, pid, signal),
      signal,
    )
    for (const server of servers)
      server.on('connection', (connection) => this.#onConnection(connection, networkId))
    this.#servers.set(networkId, servers)
    await this.#plug(networkId, signal)
  }

  async #end(networkId: NetworkId, servers: readonly Server[], signal: AbortSignal): Promise<void> {
    for (const server of servers) server.close()
    await this.#links.remove(interfaceOf(networkId), signal)
    this.#servers.delete(networkId)
  }

  #plug(networkId: NetworkId, signal: AbortSignal): Promise<void> {
    const { id: portId } = metadataPort(networkId)
    return this.#bridge.plug({ name: interfaceOf(networkId), portId }, signal)
  }

  /** Afterwards the process's namespace has the service's addresses, and the host the other end of its interface. */
  async #addInterface(networkId: NetworkId, pid: number, signal: AbortSignal): Promise<void> {
    const name = interfaceOf(networkId)
    const { macAddress } = metadataPort(networkId)
    await this.#links.remove(name, signal)
    const peer = ['peer', 'name', INSIDE, 'address', macAddress, 'netns', String(pid)]
    await this.#links.run(signal, 'ip', 'link', 'add', name, 'type', 'veth', ...peer)
    await this.#links.run(signal, 'ip', 'link', 'set', name, 'up')
    const inside = (...command: readonly string[]) =>
      run('nsenter', [`--net=/proc/${pid}/ns/net`, ...command], { timeoutMs: STEP_MS, signal })
    if (await this.#bridge.isInUserspace()) await inside('ethtool', '-K', INSIDE, 'tx', 'off')
    await inside('ip', 'address', 'add', `${METADATA_ADDRESS}/32`, 'dev', INSIDE)
    await inside('ip', '-6', 'address', 'add', `${METADATA_ADDRESS_V6}/64`, 'dev', INSIDE, 'nodad')
    await inside('ip', 'link', 'set', INSIDE, 'up')
    // Guests of all subnets are neighbours.
    await inside('ip', 'route', 'add', 'default', 'dev', INSIDE)
  }
}

/** The same whenever it is asked for, and within Linux's 15 characters. */
function interfaceOf(networkId: NetworkId): string {
  return PREFIX + metadataPort(networkId).id.replaceAll('-', '').slice(0, 12)
}
