import ipaddr from 'ipaddr.js'
import type { InstanceSpec, NicSpec } from './driver.ts'
import type { MachineNicMap } from './machine-nics.ts'

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
 * A server's config drive as its machine needs it: the NICs are the machine's own, and nobody hands out addresses on their
 * networks.
 */
export function toldOfMachine(
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

function isHandedOutV4({ address, dhcp }: NicSpec['fixedIps'][number]): boolean {
  return dhcp && !address.includes(':')
}

function fixed({ address, cidr, gateway }: NicSpec['fixedIps'][number]): object {
  const any = '0.0.0.0'
  const [, bits] = ipaddr.parseCIDR(cidr)
  return {
    type: 'ipv4',
    ip_address: address,
    netmask: ipaddr.IPv4.subnetMaskFromPrefixLength(bits).toString(),
    routes: gateway === null ? [] : [{ network: any, netmask: any, gateway }],
  }
}

function metaData(data: MetaData, macOf: MacOf): object {
  if (data.devices === undefined) return data
  const devices = data.devices.map((device) => ({
    ...device,
    ...(device.mac === undefined ? {} : { mac: macOf.get(device.mac) ?? device.mac }),
  }))
  return { ...data, devices }
}
