import { Failure, isFailure } from '#common/errors.ts'
import type { NetworkId, PortId } from '#common/ids.ts'
import type { NicSpec } from '../../driver.ts'
import { KeyedLock } from '../../keyed-lock.ts'
import type { Cloud } from '../cloud/cloud.ts'
import { idsOf, networkName, portName } from '../names.ts'
import { type CloudPort, groupsChange, hasAddresses } from './port-change.ts'
import { subnetBody } from './subnet-body.ts'

interface Named {
  readonly id: string
}

interface Subnet extends Named {
  readonly cidr: string
}

/**
 * Networks and ports of our own in the cloud below: what our users see of a network is ours, and its guests there reach
 * only each other. Nothing that was there before is used.
 */
export class CloudNetworks {
  readonly #cloud: Cloud
  readonly #lock = new KeyedLock<string>()

  constructor(cloud: Cloud) {
    this.#cloud = cloud
  }

  /**
   * The id below of a port with exactly this address and MAC; one that is there stays. A new one lets nothing through yet
   * but what its guest needs to get its address.
   */
  async ensurePort(nic: NicSpec, signal: AbortSignal): Promise<string> {
    const name = portName(nic.portId)
    const found = await this.#find('ports', name, signal)
    if (found !== undefined) return found.id
    return this.#lock.run(nic.networkId, signal, async () => {
      const networkId = await this.#ensureNetwork(nic.networkId, signal)
      const port = {
        name,
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
    const port = await this.#find<CloudPort>('ports', portName(nic.portId), signal)
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
    return (await this.#find('ports', portName(id), signal))?.id
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
    type Port = CloudPort & { readonly name: string }
    const { body } = await this.#cloud.call<{ ports: readonly Port[] }>(
      'network',
      'GET',
      '/ports',
      { query, signal },
    )
    const networkIds: NetworkId[] = []
    for (const network of new Set(body.ports.map((port) => port.network_id))) {
      const found = await this.#cloud.call<{ network: { readonly name: string } }>(
        'network',
        'GET',
        `/networks/${network}`,
        { signal },
      )
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
    const found = await this.findPort(portId, signal)
    if (found !== undefined) await this.#remove(`/ports/${found}`, signal)
  }

  /** Afterwards the network is not there, unless a port is on it. */
  async releaseNetwork(id: NetworkId, isUsed: () => boolean, signal: AbortSignal): Promise<void> {
    await this.#lock.run(id, signal, async () => {
      if (isUsed()) return
      const found = await this.#find('networks', networkName(id), signal)
      if (found !== undefined) await this.#removeUnused(`/networks/${found.id}`, signal)
    })
  }

  /** Of two that were made at the same time by two hosts, both take the first. */
  async #ensureNetwork(id: NetworkId, signal: AbortSignal): Promise<string> {
    const name = networkName(id)
    const found = await this.#find('networks', name, signal)
    if (found !== undefined) return found.id
    const made = await this.#make('networks', 'network', { name }, signal)
    const first = (await this.#find('networks', name, signal))?.id ?? made
    if (first !== made) await this.#removeUnused(`/networks/${made}`, signal)
    return first
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
    const { body } = await this.#cloud.call<{ subnets: readonly Subnet[] }>(
      'network',
      'GET',
      '/subnets',
      { query: { network_id: networkId }, signal },
    )
    const subnets = new Map(body.subnets.map(({ cidr, id }) => [cidr, id]))
    for (const fixed of nic.fixedIps) {
      if (subnets.has(fixed.cidr)) continue
      const subnet = subnetBody(networkId, networkName(nic.networkId), fixed)
      subnets.set(fixed.cidr, await this.#make('subnets', 'subnet', subnet, signal))
    }
    return subnets
  }

  async #find<T extends Named = Named>(
    what: string,
    name: string,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const { projectId } = await this.#cloud.access(signal)
    // Networks that others share with the project may have any name.
    const query = { name, project_id: projectId }
    const { body } = await this.#cloud.call<Readonly<Record<string, readonly T[]>>>(
      'network',
      'GET',
      `/${what}`,
      { query, signal },
    )
    return body[what]?.toSorted((a, b) => a.id.localeCompare(b.id))[0]
  }

  async #make(what: string, one: string, body: object, signal: AbortSignal): Promise<string> {
    const request = { body: { [one]: body }, signal }
    const answer = await this.#cloud.call<Readonly<Record<string, Named>>>(
      'network',
      'POST',
      `/${what}`,
      request,
    )
    const made = answer.body[one]
    if (made !== undefined) return made.id
    throw new Failure('unavailable', 'The cloud below answers nonsense.')
  }

  async #remove(path: string, signal: AbortSignal): Promise<void> {
    await this.#cloud.call('network', 'DELETE', path, { signal }).catch((error: unknown) => {
      if (!isFailure(error, 'not-found')) throw error
    })
  }

  /** Whoever uses it keeps it: the cloud knows best. */
  async #removeUnused(path: string, signal: AbortSignal): Promise<void> {
    await this.#remove(path, signal).catch((error: unknown) => {
      if (!isFailure(error, 'conflict')) throw error
    })
  }
}
