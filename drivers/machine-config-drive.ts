import ipaddr from 'ipaddr.js'
import type { InstanceSpec, NicSpec } from './driver.ts'
import type { MachineNicMap } from './machine-nics.ts'

type FixedIp = NicSpec['fixedIps'][number]
type Files = Readonly<Record<string, Uint8Array>>
/** By the MAC address of a port. */
type MacOf = ReadonlyMap<string, string | undefined>

interface NetworkData {
  readonly links: readonly { readonly id: string; readonly vif_id: string }[]
  readonly networks: readonly { readonly link: string; readonly type: string }[]
}

interface MetaData {
  readonly devices?: readonly { readonly mac?: string }[]
}

/**
 * A server's config drive as its machine needs it: the NICs are the machine's own, and no DHCP serves addresses on
 * their networks.
 */
export function machineConfigDrive(
  { configDrive = {}, nics }: Pick<InstanceSpec, 'configDrive' | 'nics'>,
  given: MachineNicMap,
): Files {
  const macOf = new Map(nics.map((nic) => [nic.macAddress, given.get(nic.portId)]))
  return Object.fromEntries(
    Object.entries(configDrive).map(([path, content]) => {
      if (path.endsWith('/network_data.json'))
        return [path, rewritten(content, (data: NetworkData) => networkData(data, nics, macOf))]
      if (path.endsWith('/meta_data.json'))
        return [path, rewritten(content, (data: MetaData) => metaData(data, macOf))]
      return [path, content]
    }),
  )
}

function rewritten<T>(content: Uint8Array, change: (data: T) => object): Uint8Array {
  return Buffer.from(JSON.stringify(change(JSON.parse(Buffer.from(content).toString()) as T)))
}

function networkData(data: NetworkData, nics: readonly NicSpec[], macOf: MacOf): object {
  const nicOf = (link: string) => {
    const port = data.links.find(({ id }) => id === link)?.vif_id
    return nics.find(({ portId }) => portId === port)
  }
  const links = data.links.map((link) => {
    const mac = macOf.get(nicOf(link.id)?.macAddress ?? '')
    return mac === undefined ? link : { ...link, type: 'phy', ethernet_mac_address: mac }
  })
  const awaited = Map.groupBy(data.networks.filter(isHandedOut), ({ link }) => link)
  const networks = data.networks.map((network) => {
    const nth = awaited.get(network.link)?.indexOf(network) ?? -1
    const ip = nicOf(network.link)?.fixedIps.filter(isHandedOutV4)[nth]
    return ip === undefined ? network : { ...network, ...fixed(ip) }
  })
  return { ...data, links, networks }
}

function isHandedOut({ type }: NetworkData['networks'][number]): boolean {
  return type === 'ipv4_dhcp'
}

function isHandedOutV4({ address, dhcp }: FixedIp): boolean {
  return dhcp && !address.includes(':')
}

function fixed(ip: FixedIp): object {
  return { type: 'ipv4', ip_address: ip.address, netmask: netmaskOf(ip.cidr), routes: routesOf(ip) }
}

/** As `network_data.json` has them: the way out by the gateway first, then what the subnet says of others. */
export function routesOf({ cidr, gateway, hostRoutes = [] }: FixedIp): readonly object[] {
  const anywhere = ipaddr.IPv6.isValidCIDR(cidr) ? '::/0' : '0.0.0.0/0'
  const out = gateway === null ? [] : [{ destination: anywhere, nexthop: gateway }]
  return [...out, ...hostRoutes].map(({ destination, nexthop }) => {
    const [network] = destination.split('/')
    return { network, netmask: netmaskOf(destination), gateway: nexthop }
  })
}

/** The mask of a block, such as 255.255.255.0. */
export function netmaskOf(cidr: string): string {
  const [network, bits] = ipaddr.parseCIDR(cidr)
  const Family = network.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
  return Family.subnetMaskFromPrefixLength(bits).toString()
}

function metaData(data: MetaData, macOf: MacOf): object {
  if (data.devices === undefined) return data
  const devices = data.devices.map((device) => ({
    ...device,
    ...(device.mac === undefined ? {} : { mac: macOf.get(device.mac) ?? device.mac }),
  }))
  return { ...data, devices }
}
