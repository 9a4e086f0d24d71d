import ipaddr from 'ipaddr.js'
import { netmaskOf, routesOf } from '#drivers/machine-config-drive.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'

type Nic = InstanceBuild['nics'][number]
type FixedIp = Nic['fixedIps'][number]

/** `network_data.json`: links, the addresses on them, and name servers (nova: network_data schema). */
export function networkData(nics: readonly Nic[]): object {
  return {
    links: nics.map((nic, index) => ({
      id: `tap${index}`,
      vif_id: nic.portId,
      type: 'bridge',
      mtu: nic.mtu,
      ethernet_mac_address: nic.macAddress,
    })),
    networks: nics.flatMap((nic, link) =>
      nic.fixedIps.map((ip, index) => network(nic, ip, `network${link}-${index}`, `tap${link}`)),
    ),
    services: [...new Set(nics.flatMap((nic) => nic.fixedIps.flatMap((ip) => ip.dnsServers)))].map(
      (address) => ({ type: 'dns', address }),
    ),
  }
}

function network(nic: Nic, ip: FixedIp, id: string, link: string): object {
  const kind = ipaddr.parse(ip.address).kind()
  const base = { id, link, network_id: nic.networkId }
  if (ip.dhcp && kind === 'ipv4') return { ...base, type: 'ipv4_dhcp' }
  return {
    ...base,
    type: kind,
    ip_address: ip.address,
    netmask: netmaskOf(ip.cidr),
    routes: routesOf(ip),
  }
}
