import ipaddr from 'ipaddr.js'
import { Failure, isFailure } from '#common/errors.ts'
import type { NetworkId } from '#common/ids.ts'
import type { NicSpec, Owner } from '../../driver.ts'
import { KeyedLock } from '../../keyed-lock.ts'
import type { Engine } from '../engine/engine.ts'
import { LABELS, labelsOf, networkName, ownFilter } from '../names.ts'
import { OvnEndpoints } from './ovn-endpoints.ts'

interface EngineNetwork {
  readonly Id: string
  readonly Name: string
  readonly Labels: Readonly<Record<string, string>>
}

/**
 * The networks of this host's guests, made with the first NIC and gone with the last: bridges of the engine, or, with
 * `ovn`, names for what its plugin joins to OVN.
 */
export class EngineNetworks {
  readonly #engine: Engine
  readonly #owner: Owner
  readonly #ovn: OvnEndpoints | undefined
  readonly #locks = new KeyedLock<NetworkId>()

  constructor(engine: Engine, owner: Owner, ovn?: OvnEndpoints) {
    this.#engine = engine
    this.#owner = owner
    this.#ovn = ovn
  }

  /**
   * How the NIC stands in its network, as the engine's API takes it. In OVN the first NIC's gateway is the container's;
   * among bridges the engine chooses one.
   */
  endpoint(nic: NicSpec, isFirst: boolean): object {
    return this.#ovn === undefined ? bridgeEndpoint(nic) : OvnEndpoints.endpoint(nic, isFirst)
  }

  /**
   * Runs `attach` with the engine's name of the NIC's network, which exists then. Throws `conflict` when the engine
   * has another network with its addresses.
   */
  async use<T>(
    nic: NicSpec,
    signal: AbortSignal,
    attach: (network: string) => Promise<T>,
  ): Promise<T> {
    return this.#locks.run(nic.networkId, signal, async () => {
      const name = networkName(this.#owner, nic.networkId)
      if ((await this.#find(name, signal)) === undefined) await this.#create(name, nic, signal)
      return attach(name)
    })
  }

  /** Afterwards the host's networks that `isUsed` denies are removed, whichever process left them behind. */
  async releaseUnused(
    isUsed: (name: string) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<void> {
    const query = { filters: ownFilter(this.#owner) }
    const networks = await this.#engine.call<readonly EngineNetwork[]>('GET', '/networks', {
      query,
      signal,
    })
    for (const { Id, Name, Labels } of networks) {
      await this.#locks.run(Labels[LABELS.id] as NetworkId, signal, async () => {
        if (!(await isUsed(Name))) await this.#remove(Id, signal)
      })
    }
  }

  /** `not-found`: another destroy was quicker. */
  async #remove(engineId: string, signal: AbortSignal): Promise<void> {
    await this.#engine
      .call('DELETE', `/networks/${engineId}`, { signal })
      .catch((error: unknown) => {
        if (!isFailure(error, 'not-found')) throw error
      })
  }

  async #find(name: string, signal: AbortSignal): Promise<EngineNetwork | undefined> {
    try {
      return await this.#engine.call<EngineNetwork>('GET', `/networks/${name}`, { signal })
    } catch (error) {
      if (isFailure(error, 'not-found')) return undefined
      throw error
    }
  }

  async #create(name: string, nic: NicSpec, signal: AbortSignal): Promise<void> {
    const labels = labelsOf(this.#owner, nic.networkId)
    const body =
      this.#ovn === undefined
        ? networkBody(name, labels, nic)
        : { Name: name, Driver: this.#ovn.name, Labels: labels, IPAM: { Driver: 'null' } }
    await this.#engine.call('POST', '/networks/create', { body, signal })
  }
}

/**
 * The body of `POST /networks/create`. A network without gateway has no way out. The engine's bridge needs an address
 * all the same: it gets the last one of the subnet, and the engine refuses guests with that address.
 */
function networkBody(name: string, labels: Readonly<Record<string, string>>, nic: NicSpec): object {
  if (nic.fixedIps.length === 0)
    throw new Failure('unsupported', 'A container needs a fixed address on each of its networks.')
  return {
    Name: name,
    Driver: 'bridge',
    CheckDuplicate: true,
    Labels: labels,
    Internal: nic.fixedIps.every(({ gateway }) => gateway === null),
    EnableIPv6: nic.fixedIps.some(({ cidr }) => cidr.includes(':')),
    Options: { 'com.docker.network.driver.mtu': String(nic.mtu) },
    IPAM: {
      Config: nic.fixedIps.map(({ cidr, gateway }) => ({
        Subnet: cidr,
        Gateway: gateway ?? lastAddress(cidr),
      })),
    },
  }
}

/** How a NIC stands in its network: the engine gives it exactly these addresses. */
function bridgeEndpoint(nic: NicSpec): object {
  const [v4, v6] = [
    nic.fixedIps.find(({ address }) => !address.includes(':')),
    nic.fixedIps.find(({ address }) => address.includes(':')),
  ]
  return {
    MacAddress: nic.macAddress,
    IPAMConfig: {
      ...(v4 === undefined ? {} : { IPv4Address: v4.address }),
      ...(v6 === undefined ? {} : { IPv6Address: v6.address }),
    },
  }
}

function lastAddress(cidr: string): string {
  if (cidr.includes(':'))
    throw new Failure(
      'unsupported',
      `IPv6 subnet ${cidr} needs a gateway address on a Docker host.`,
    )
  const octets = ipaddr.IPv4.broadcastAddressFromCIDR(cidr).toByteArray()
  return [...octets.slice(0, 3), octets[3]! - 1].join('.')
}
