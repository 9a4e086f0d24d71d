import ipaddr from 'ipaddr.js'
import { Failure, isFailure } from '#common/errors.ts'
import type { NetworkId } from '#common/ids.ts'
import type { NicSpec, Owner } from '../../driver.ts'
import { KeyedLock } from '../../keyed-lock.ts'
import type { Engine } from '../engine/engine.ts'
import { LABELS, labelsOf, networkName, ownFilter } from '../names.ts'

interface EngineNetwork {
  readonly Id: string
  readonly Name: string
  readonly Labels: Readonly<Record<string, string>>
}

/** The networks of this host's guests: bridges of the engine, made with the first NIC and gone with the last. */
export class EngineNetworks {
  readonly #engine: Engine
  readonly #owner: Owner
  readonly #locks = new KeyedLock<NetworkId>()

  constructor(engine: Engine, owner: Owner) {
    this.#engine = engine
    this.#owner = owner
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
    const body = networkBody(name, labelsOf(this.#owner, nic.networkId), nic)
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

function lastAddress(cidr: string): string {
  if (cidr.includes(':')) throw new Failure('unsupported', `Subnet ${cidr} needs a gateway here.`)
  const octets = ipaddr.IPv4.broadcastAddressFromCIDR(cidr).toByteArray()
  return [...octets.slice(0, 3), octets[3]! - 1].join('.')
}
