import type { AnnouncedAddress } from '../address-announcer.ts'
import type { CellNetworks } from './northbound/network-index.ts'
import { FLOATING_NETWORK } from './northbound/routers.ts'
import type { WantedRow } from './northbound/rows.ts'
import type { ValueMap } from './ovsdb/values.ts'

/** A floating IP for which the host of a port answers, and no gateway. */
interface PortAddress extends AnnouncedAddress {
  readonly id: string
  readonly portId: string
}

/** Floating IPs that have come to a host. */
export interface MovedAddresses {
  readonly chassis: string
  readonly addresses: readonly AnnouncedAddress[]
}

/** Finds the floating IPs that have another host than before: the networks of the site still send their packets to the former one. */
export class AddressPlaces {
  #addresses: readonly PortAddress[] | undefined
  /** By floating IP, the host that had it last. */
  #hosts: ReadonlyMap<string, string> = new Map()

  /**
   * These rows are in force from now on. At the first call `hostOf` is where floating IPs have been: it names the host of
   * a port that works.
   */
  put(
    rows: readonly WantedRow[],
    { networks }: CellNetworks,
    hostOf: (portId: string) => string | undefined,
  ): void {
    const vlans = new Map(networks.map(({ id, vlan }) => [id, vlan]))
    const isFirst = this.#addresses === undefined
    this.#addresses = rows.flatMap((row) => portAddressOf(row, vlans))
    if (isFirst) this.moved(hostOf)
  }

  /** Those that have come to a host since the last call, by host. */
  moved(hostOf: (portId: string) => string | undefined): readonly MovedAddresses[] {
    const before = this.#hosts
    const found = (this.#addresses ?? []).map((address) => {
      const host = hostOf(address.portId)
      return { address, host: host ?? before.get(address.id), isThere: host !== undefined }
    })
    this.#hosts = new Map(
      found.flatMap(({ address, host }) => (host === undefined ? [] : [[address.id, host]])),
    )
    const moved = found.filter(
      ({ address, host, isThere }) => isThere && before.get(address.id) !== host,
    )
    const byHost = Map.groupBy(moved, ({ host }) => host!)
    return [...byHost].map(([chassis, own]) => ({
      chassis,
      addresses: own.map(({ address: { networkId, vlan, address, mac } }) => {
        return { networkId, vlan, address, mac }
      }),
    }))
  }
}

function portAddressOf(
  { table, id, columns }: WantedRow,
  vlans: ReadonlyMap<string, number | null>,
): readonly PortAddress[] {
  if (table !== 'NAT') return []
  const { external_ip: address, external_mac: mac, logical_port: portId } = columns
  const networkId = (columns['external_ids'] as ValueMap)[FLOATING_NETWORK]
  const isText = (value: unknown): value is string => typeof value === 'string'
  if (!isText(address) || !isText(mac) || !isText(portId) || !isText(networkId)) return []
  return [{ id, portId, networkId, vlan: vlans.get(networkId) ?? null, address, mac }]
}
