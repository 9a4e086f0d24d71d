import { type Static, Type } from 'typebox'
import { Failure, isFailure } from '#common/errors.ts'
import { isUuid, type NetworkId, type PortId } from '#common/ids.ts'
import type { NicSpec } from '../../driver.ts'
import { KeyedLock } from '../../keyed-lock.ts'
import type { Cloud } from '../cloud/cloud.ts'
import { Id } from '../cloud/id.ts'
import { namedId } from '../map/named-id.ts'
import { idsOf, networkName, portName } from '../names.ts'
import type { CloudRouters } from '../routing/cloud-routers.ts'
import { CloudPort, groupsChange, hasAddresses, subnetBody } from './port-change.ts'

const Made = Type.Object({ id: Id })
const Network = Type.Object({
  id: Id,
  name: Type.String(),
  created_at: Type.Optional(Type.String()),
})
const Subnet = Type.Object({ id: Id, cidr: Type.String() })

const Networks = Type.Object({ networks: Type.Array(Network) })
const Subnets = Type.Object({ subnets: Type.Array(Subnet) })
const Ports = Type.Object({ ports: Type.Array(CloudPort) })
const MADE = {
  network: Type.Object({ network: Made }),
  subnet: Type.Object({ subnet: Made }),
  port: Type.Object({ port: Made }),
} as const
const ShownNetwork = Type.Object({ network: Network })

/**
 * Networks and ports of our own in the nested cloud: what our users see of a network is ours, and its guests there reach
 * only each other. Of what was there before only the networks are used that the operator says ours are.
 */
export class CloudNetworks {
  readonly #cloud: Cloud
  readonly #mapped: ReadonlyMap<string, string>
  readonly #routers: Pick<CloudRouters, 'leave'>
  readonly #lock = new KeyedLock<string>()
  /** Of networks that were named, by their names. */
  readonly #ids = new Map<string, string>()

  /** `mapped`: of our networks, by id, those below that they are. `routers` leave a network before it goes. */
  constructor(
    cloud: Cloud,
    mapped: ReadonlyMap<string, string>,
    routers: Pick<CloudRouters, 'leave'>,
  ) {
    this.#cloud = cloud
    this.#mapped = mapped
    this.#routers = routers
  }

  /**
   * The id below of a port with exactly this address and MAC; one that is there stays. A new one lets nothing through yet
   * but what its guest needs to get its address.
   */
  async ensurePort(nic: NicSpec, signal: AbortSignal): Promise<string> {
    const found = await this.#findPort(nic.portId, signal)
    if (found !== undefined) return found.id
    return this.#lock.run(nic.networkId, signal, async () => {
      const networkId = await this.#ensureNetwork(nic, signal)
      const port = {
        name: portName(nic.portId),
        network_id: networkId,
        mac_address: nic.macAddress,
        fixed_ips: await this.#fixedIps(networkId, nic, signal),
        security_groups: [],
      }
      return this.#make('ports', 'port', port, signal)
    })
  }

  /**
   * Afterwards the port has these addresses and security groups, by their ids; `groups` null: nothing is held up. False:
   * it is not there.
   */
  async changePort(
    nic: NicSpec,
    groups: readonly string[] | null,
    signal: AbortSignal,
  ): Promise<boolean> {
    const port = await this.#findPort(nic.portId, signal)
    if (port === undefined) return false
    const change = {
      ...(hasAddresses(port, nic)
        ? {}
        : { fixed_ips: await this.#fixedIps(port.network_id, nic, signal) }),
      ...groupsChange(port, groups),
    }
    if (Object.keys(change).length > 0)
      await this.#cloud.call('network', 'PUT', `/ports/${port.id}`, {
        body: { port: change },
        signal,
      })
    return true
  }

  /** The id below of a port; undefined when it is not there. */
  async findPort(id: PortId, signal: AbortSignal): Promise<string | undefined> {
    return (await this.#findPort(id, signal))?.id
  }

  /** Of ours, what was made for a server, by the names it has below, and the groups below that its ports have. */
  async madeFor(
    serverId: string,
    signal: AbortSignal,
  ): Promise<{
    readonly portIds: readonly PortId[]
    readonly networkIds: readonly NetworkId[]
    readonly groupsBelow: readonly string[]
  }> {
    const query = { device_id: serverId }
    const asked = { query, signal }
    const { body } = await this.#cloud.ask(Ports, 'network', 'GET', '/ports', asked)
    const networkIds: NetworkId[] = []
    for (const network of new Set(body.ports.map((port) => port.network_id))) {
      const path = `/networks/${network}`
      const found = await this.#cloud.ask(ShownNetwork, 'network', 'GET', path, { signal })
      networkIds.push(...idsOf<NetworkId>([found.body.network.name]))
    }
    return {
      portIds: idsOf(body.ports.map(({ name }) => name)),
      networkIds,
      groupsBelow: [...new Set(body.ports.flatMap((port) => port.security_groups))],
    }
  }

  /** Afterwards the port is not there. */
  async removePort(portId: PortId, signal: AbortSignal): Promise<void> {
    for (const { id } of await this.#portsOf(portId, signal))
      await this.#remove(`/ports/${id}`, signal)
  }

  /** Afterwards the network is not there, unless a guest's port is on it or the operator named it. */
  async releaseNetwork(id: NetworkId, isUsed: () => boolean, signal: AbortSignal): Promise<void> {
    await this.#lock.run(id, signal, async () => {
      if (isUsed() || this.#mapped.has(id)) return
      for (const network of await this.#networksOf(id, signal)) {
        await this.#routers.leave(network.id, signal)
        await this.#removeUnused(`/networks/${network.id}`, signal)
      }
    })
  }

  /** Of two that were made at the same time by two hosts, both take the first. */
  async #ensureNetwork({ networkId: id, mtu }: NicSpec, signal: AbortSignal): Promise<string> {
    const mapped = this.#mapped.get(id)
    if (mapped !== undefined) return this.#named(mapped, signal)
    const found = await this.#findNetwork(id, signal)
    if (found !== undefined) return found
    const make = (body: object) => this.#make('networks', 'network', body, signal)
    const name = networkName(id)
    // A cloud whose own links carry less refuses the MTU, and its guests get the largest that it offers.
    const made = await make({ name, mtu }).catch((error: unknown) => {
      if (!isFailure(error, 'invalid')) throw error
      return make({ name })
    })
    const oldest = (await this.#findNetwork(id, signal)) ?? made
    if (oldest !== made) await this.#removeUnused(`/networks/${made}`, signal)
    return oldest
  }

  /** Looked up once: what an operator named stays what it was. */
  async #named(named: string, signal: AbortSignal): Promise<string> {
    const id = isUuid(named) ? named : this.#ids.get(named)
    if (id !== undefined) return id
    const found = await namedId(this.#cloud, 'networks', named, signal)
    this.#ids.set(named, found)
    return found
  }

  async #fixedIps(networkId: string, nic: NicSpec, signal: AbortSignal): Promise<object[]> {
    const subnets = await this.#ensureSubnets(networkId, nic, signal)
    return nic.fixedIps.map(({ address, cidr }) => {
      return { subnet_id: subnets.get(cidr), ip_address: address }
    })
  }

  async #ensureSubnets(
    networkId: string,
    nic: NicSpec,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const asked = { query: { network_id: networkId }, signal }
    const { body } = await this.#cloud.ask(Subnets, 'network', 'GET', '/subnets', asked)
    const subnets = new Map(body.subnets.map(({ cidr, id }) => [cidr, id]))
    for (const fixed of nic.fixedIps) {
      if (subnets.has(fixed.cidr)) continue
      if (this.#mapped.has(nic.networkId))
        throw new Failure('invalid', `Network ${networkId} below has no subnet ${fixed.cidr}.`)
      const subnet = subnetBody(networkId, networkName(nic.networkId), fixed)
      subnets.set(fixed.cidr, await this.#make('subnets', 'subnet', subnet, signal))
    }
    return subnets
  }

  async #findNetwork(id: NetworkId, signal: AbortSignal): Promise<string | undefined> {
    return (await this.#networksOf(id, signal))[0]?.id
  }

  async #findPort(id: PortId, signal: AbortSignal): Promise<CloudPort | undefined> {
    return (await this.#portsOf(id, signal))[0]
  }

  /** There are several only after an answer was lost; every reader takes the oldest. */
  async #networksOf(id: NetworkId, signal: AbortSignal) {
    const query = await this.#ours(networkName(id), signal)
    const asked = { query, signal }
    const { body } = await this.#cloud.ask(Networks, 'network', 'GET', '/networks', asked)
    return oldestFirst(body.networks)
  }

  /** The same. */
  async #portsOf(id: PortId, signal: AbortSignal): Promise<readonly CloudPort[]> {
    const query = await this.#ours(portName(id), signal)
    const asked = { query, signal }
    const { body } = await this.#cloud.ask(Ports, 'network', 'GET', '/ports', asked)
    return oldestFirst(body.ports)
  }

  /** Networks that others share with the project may have any name. */
  async #ours(name: string, signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    const { projectId } = await this.#cloud.access(signal)
    return { name, project_id: projectId }
  }

  async #make(
    what: string,
    one: keyof typeof MADE,
    body: object,
    signal: AbortSignal,
  ): Promise<string> {
    const request = { body: { [one]: body }, signal }
    const answer = await this.#cloud.ask(MADE[one], 'network', 'POST', `/${what}`, request)
    return (answer.body as Record<typeof one, Static<typeof Made>>)[one].id
  }

  async #remove(path: string, signal: AbortSignal): Promise<void> {
    await this.#cloud.call('network', 'DELETE', path, { signal }).catch((error: unknown) => {
      if (!isFailure(error, 'not-found')) throw error
    })
  }

  /** One that is in use stays: the cloud refuses to remove it. */
  async #removeUnused(path: string, signal: AbortSignal): Promise<void> {
    await this.#remove(path, signal).catch((error: unknown) => {
      if (!isFailure(error, 'conflict')) throw error
    })
  }
}

function oldestFirst<T extends { readonly id: string; readonly created_at?: string }>(
  found: readonly T[],
): readonly T[] {
  const ageOf = ({ created_at: at = '', id }: T) => `${at} ${id}`
  return found.toSorted((a, b) => ageOf(a).localeCompare(ageOf(b)))
}
