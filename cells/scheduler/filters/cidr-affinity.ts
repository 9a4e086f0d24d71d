import ipaddr from 'ipaddr.js'
import type { HostFilter } from '../filter.ts'

const PREFIX_USUAL = '/24'

/** Refuses hosts whose address is outside the range of the hints `build_near_host_ip` and `cidr`. */
export const simpleCidrAffinityFilter: HostFilter = {
  name: 'SimpleCIDRAffinityFilter',
  concerns: ({ hints }) => hints['build_near_host_ip'] !== undefined,
  runs: 'named',
  refuse: ({ address }, { hints }) => {
    const [near] = hints['build_near_host_ip'] ?? []
    if (near === undefined) return undefined
    const [prefix = PREFIX_USUAL] = hints['cidr'] ?? []
    const range = `${near}${prefix}`
    if (!ipaddr.isValidCIDR(range))
      throw new Error(`the hints build_near_host_ip and cidr make no range of addresses: ${range}`)
    if (address === null) return 'does not report its address'
    return isWithin(address, range) ? undefined : `has the address ${address}, outside ${range}`
  },
}

function isWithin(address: string, range: string): boolean {
  const [network, bits] = ipaddr.parseCIDR(range)
  const own = ipaddr.parse(address)
  return own.kind() === network.kind() && own.match(network, bits)
}
