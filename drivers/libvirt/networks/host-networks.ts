import { Failure, isFailure } from '#common/errors.ts'
import type { NetworkId } from '#common/ids.ts'
import type { Logger } from '#common/log.ts'
import type { NicSpec, Owner } from '../../driver.ts'
import type { FilterRule } from '../../firewall.ts'
import { KeyedLock } from '../../keyed-lock.ts'
import type { FilterCalls } from '../firewall/filter-calls.ts'
import { filterName } from '../firewall/filter-name.ts'
import { filterXml, isBeyondLibvirt } from '../firewall/filter-xml.ts'
import { isOwnStamp } from '../ownership.ts'
import type { NetworkRef } from '../rpc/refs.ts'
import { element, type XmlElement } from '../xml/element.ts'
import { attributeAt, elementsAt, parseXml } from '../xml/parse.ts'
import type { GuestNetworks } from './guest-networks.ts'
import type { NetworkCalls } from './network-calls.ts'
import { networkName, networkUuid } from './network-name.ts'
import { dhcpAddress, dhcpHostXml, networkXml } from './network-xml.ts'

interface DhcpHost {
  readonly mac: string
  readonly address: string
}

/**
 * Networks of this host alone: each is there from its first NIC to its last. Filters are libvirt's own: it makes rules of
 * them as guests start, and touches none that are not its own.
 */
export class HostNetworks implements GuestNetworks {
  readonly #calls: NetworkCalls
  readonly #filters: FilterCalls
  readonly #owner: Owner
  readonly #logger: Logger | undefined
  readonly #locks = new KeyedLock<NetworkId>()

  constructor(calls: NetworkCalls, filters: FilterCalls, owner: Owner, logger: Logger | undefined) {
    this.#calls = calls
    this.#filters = filters
    this.#owner = owner
    this.#logger = logger
  }

  interfaceOf(nic: NicSpec): XmlElement {
    return element(
      'interface',
      { type: 'network' },
      element('mac', { address: nic.macAddress }),
      element('source', { network: networkName(this.#owner, nic.networkId) }),
      element('model', { type: 'virtio' }),
      element('mtu', { size: nic.mtu }),
      element('filterref', { filter: filterName(nic.portId) }),
    )
  }

  async filter(
    nic: NicSpec,
    rules: readonly FilterRule[] | null,
    signal: AbortSignal,
  ): Promise<void> {
    const unsupported = rules?.filter(isBeyondLibvirt) ?? []
    if (unsupported.length > 0)
      this.#logger?.warn({ port: nic.portId, unsupported }, 'rules for protocols stay shut')
    await this.#filters.define(filterXml(nic, rules), signal)
  }

  /**
   * Afterwards the NIC has a filter, shut if it had none; its network is up, and its DHCP serves this NIC alone, by
   * its MAC address. A network has the subnets of the NIC it was made for, as libvirt cannot add one while guests use
   * it: a NIC on another subnet is left to its config drive.
   */
  async plug(nic: NicSpec, signal: AbortSignal): Promise<void> {
    if (!(await this.#filters.exists(filterName(nic.portId), signal)))
      await this.#filters.define(filterXml(nic, []), signal)
    await this.#locks.run(nic.networkId, signal, async () => {
      const network =
        (await this.#find(nic.networkId, signal)) ??
        (await this.#calls.define(networkXml(this.#owner, nic), signal))
      if (!(await this.#calls.isActive(network, signal))) await this.#start(network, nic, signal)
      const ip = dhcpAddress(nic)
      if (ip === undefined || (await this.#gateway(network, signal)) !== ip.gateway) return
      const { address } = ip
      await this.#reserve(network, { mac: nic.macAddress.toLowerCase(), address }, signal)
    })
  }

  /**
   * Afterwards the NIC has no filter, DHCP no longer knows it, and its network is gone when `isUsed` says that no other NIC needs it.
   * Asked under the network's lock, so no NIC is plugged in between.
   */
  async unplug(
    nic: NicSpec,
    isUsed: (id: NetworkId) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#filters.undefine(filterName(nic.portId), signal)
    await this.#locks.run(nic.networkId, signal, async () => {
      const network = await this.#find(nic.networkId, signal)
      if (network === undefined) return
      const active = await this.#calls.isActive(network, signal)
      if (!(await isUsed(nic.networkId))) {
        if (active) await this.#calls.stop(network, signal)
        await this.#calls.undefine(network, signal)
        return
      }
      if (!active) return
      const mac = nic.macAddress.toLowerCase()
      await this.#drop(network, (host) => host.mac === mac, signal)
    })
  }

  async #find(id: NetworkId, signal: AbortSignal): Promise<NetworkRef | undefined> {
    const network = await this.#calls.find(networkUuid(this.#owner, id), signal)
    if (network === undefined) return undefined
    const document = parseXml(await this.#calls.xml(network, signal))
    const [stamp] = elementsAt(document, 'network', 'metadata', 'owned')
    if (!isOwnStamp(stamp, this.#owner, id))
      throw new Failure(
        'conflict',
        'libvirt has a network with the UUID of this network that belongs to another owner.',
        {
          detail: `libvirt network ${network.name} is not of this cell and host`,
        },
      )
    return network
  }

  /**
   * Several networks may have the same addresses, or those of the host's own: libvirt then refuses to start one, with no code
   * of its own for it.
   */
  async #start(network: NetworkRef, nic: NicSpec, signal: AbortSignal): Promise<void> {
    try {
      await this.#calls.start(network, signal)
    } catch (error) {
      if (!isFailure(error, 'internal')) throw error
      await this.#calls.define(networkXml(this.#owner, nic, true), signal)
      await this.#calls.start(network, signal)
    }
  }

  async #gateway(network: NetworkRef, signal: AbortSignal): Promise<string> {
    const document = parseXml(await this.#calls.xml(network, signal))
    return attributeAt(document, 'address', 'network', 'ip')
  }

  async #reserve(network: NetworkRef, wanted: DhcpHost, signal: AbortSignal): Promise<void> {
    const isWanted = (host: DhcpHost) => host.mac === wanted.mac && host.address === wanted.address
    const clashes = (host: DhcpHost) =>
      !isWanted(host) && (host.mac === wanted.mac || host.address === wanted.address)
    const hosts = await this.#drop(network, clashes, signal)
    if (hosts.some(isWanted)) return
    const xml = dhcpHostXml(wanted.mac, wanted.address)
    await this.#calls.updateDhcpHost(network, 'add-last', xml, signal)
  }

  /** Removes the entries that match and returns what was there before. */
  async #drop(
    network: NetworkRef,
    matches: (host: DhcpHost) => boolean,
    signal: AbortSignal,
  ): Promise<readonly DhcpHost[]> {
    const hosts = dhcpHosts(await this.#calls.xml(network, signal))
    for (const { mac, address } of hosts.filter(matches)) {
      await this.#calls.updateDhcpHost(network, 'delete', dhcpHostXml(mac, address), signal)
    }
    return hosts
  }
}

function dhcpHosts(xml: string): readonly DhcpHost[] {
  return elementsAt(parseXml(xml), 'network', 'ip', 'dhcp', 'host').map((host) => ({
    mac: attributeAt(host, 'mac').toLowerCase(),
    address: attributeAt(host, 'ip'),
  }))
}
