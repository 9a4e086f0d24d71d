import ipaddr from 'ipaddr.js'
import { Failure } from '#common/errors.ts'
import type { InstanceSpec, NicSpec } from './driver.ts'

type Files = Readonly<Record<string, Uint8Array>>

interface NetworkData {
  readonly links: readonly { readonly id: string; readonly vif_id: string }[]
  readonly networks: readonly { readonly link: string; readonly type: string }[]
}

interface MetaData {
  readonly devices?: readonly { readonly mac?: string }[]
}

/**
 * A server's config drive as its machine needs it: the NICs are the machine's own, in the order of the server's ports, and
 * nobody hands out addresses on their networks. Throws `invalid` when the machine has fewer NICs than the server.
 */
export function toldOfMachine(
  { configDrive = {}, nics }: Pick<InstanceSpec, 'configDrive' | 'nics'>,
  macAddresses: readonly string[],
): Files {
  if (nics.length > macAddresses.length)
    throw new Failure(
      'invalid',
      `The server has ${nics.length} ports, and its machine has ${macAddresses.length} NICs.`,
    )
  const macOf = new Map(nics.map((nic, nth) => [nic.macAddress, macAddresses[nth]!]))
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

function networkData(
  data: NetworkData,
  nics: readonly NicSpec[],
  macOf: ReadonlyMap<string, string>,
): object {
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

function metaData(data: MetaData, macOf: ReadonlyMap<string, string>): object {
  if (data.devices === undefined) return data
  const devices = data.devices.map((device) => ({
    ...device,
    ...(device.mac === undefined ? {} : { mac: macOf.get(device.mac) ?? device.mac }),
  }))
  return { ...data, devices }
}
