import type { InstanceBuild } from '#openapi/wire/instance.ts'
import type { FixedIp, Subnet } from '../../db/network.ts'
import type { ServerNic } from './nic-request.ts'
import { segmentOf } from './segment-of.ts'

export type NicSpec = InstanceBuild['nics'][number]

/** The NICs of a server in the form for its cell. */
export function nicSpecs(nics: readonly ServerNic[]): readonly NicSpec[] {
  return nics.map((nic) => ({
    portId: nic.port.id,
    networkId: nic.network.id,
    macAddress: nic.port.macAddress,
    mtu: nic.network.mtu,
    fixedIps: nic.port.fixedIps.map((fixedIp) => {
      const subnet = subnetOf(nic, fixedIp)
      return {
        address: fixedIp.address,
        cidr: subnet.cidr,
        gateway: subnet.gatewayIp,
        dhcp: subnet.hasDhcp,
        dnsServers: [...subnet.dnsServers],
        ...(subnet.hostRoutes.length > 0 && { hostRoutes: [...subnet.hostRoutes] }),
      }
    }),
    ...(nic.port.nicTag !== null && { tag: nic.port.nicTag }),
    ...onSite(nic.network),
  }))
}

function onSite(network: ServerNic['network']): Pick<NicSpec, 'segment'> {
  const segment = segmentOf(network)
  return segment === null ? {} : { segment }
}

/** An address as a server shows it. */
export interface ServerAddress {
  readonly version: 4 | 6
  readonly addr: string
  readonly 'OS-EXT-IPS:type': 'fixed' | 'floating'
  readonly 'OS-EXT-IPS-MAC:mac_addr': string
}

/** A server's `addresses`: network name -> addresses, in the order of the NICs. */
export function serverAddresses(
  nics: readonly ServerNic[],
): Readonly<Record<string, readonly ServerAddress[]>> {
  const byName = Map.groupBy(nics, (nic) => nic.network.name)
  const entries = [...byName].map(([name, group]) => [name, group.flatMap(addressesOf)] as const)
  return Object.fromEntries(entries)
}

/** Each fixed address, and behind it the floating IPs that lead to it. */
function addressesOf(nic: ServerNic): readonly ServerAddress[] {
  const { fixedIps, floatingIps, macAddress } = nic.port
  return fixedIps.flatMap((fixedIp) => {
    const version = subnetOf(nic, fixedIp).ipVersion
    const shown = (addr: string, type: 'fixed' | 'floating') => {
      return { version, addr, 'OS-EXT-IPS:type': type, 'OS-EXT-IPS-MAC:mac_addr': macAddress }
    }
    const leading = floatingIps.filter(({ fixedAddress }) => fixedAddress === fixedIp.address)
    return [
      shown(fixedIp.address, 'fixed'),
      ...leading.map(({ address }) => shown(address, 'floating')),
    ]
  })
}

function subnetOf(nic: ServerNic, fixedIp: FixedIp): Subnet {
  const subnet = nic.subnets.find(({ id }) => id === fixedIp.subnetId)
  if (subnet === undefined) throw new Error(`Port ${nic.port.id} has an address of no subnet`)
  return subnet
}
