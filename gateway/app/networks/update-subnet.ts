import { Failure } from '#common/errors.ts'
import type { AddressRange, HostRoute, Subnet } from '../../db/network.ts'
import { findSubnet, updateSubnet as writeSubnet } from '../../db/subnets.ts'
import type { Requester } from '../requester.ts'
import { retryStale } from '../retry-stale.ts'
import { formatIp, type Ip, parseCidr, parseIp } from './ip.ts'
import type { Networks } from './networks.ts'
import { checkedPools } from './pools.ts'
import { holdRevision } from './revision.ts'
import { dnsServersOf, gatewayOf, hostRoutesOf, poolsOf } from './subnet-addressing.ts'
import { ownSubnet } from './visible.ts'

export interface SubnetChange {
  readonly name?: string
  readonly description?: string
  readonly gateway_ip?: string | null
  readonly enable_dhcp?: boolean
  readonly dns_nameservers?: readonly string[]
  readonly host_routes?: readonly HostRoute[]
  readonly allocation_pools?: readonly AddressRange[]
}

/** Afterwards the subnet has these fields; addresses handed out stay. Throws `conflict` for a gateway inside a pool. */
export function updateSubnet(
  networks: Networks,
  ...asked: [
    requester: Requester,
    id: string,
    change: SubnetChange,
    wantedRevision?: number | undefined,
  ]
): Promise<Subnet> {
  return retryStale(networks.clock, () => changeSubnet(networks, ...asked))
}

async function changeSubnet(
  networks: Networks,
  requester: Requester,
  id: string,
  change: SubnetChange,
  wantedRevision?: number,
): Promise<Subnet> {
  const before = await ownSubnet(networks, requester, id)
  const after: Subnet = {
    ...before,
    name: change.name ?? before.name,
    description: change.description ?? before.description,
    hasDhcp: change.enable_dhcp ?? before.hasDhcp,
    dnsServers:
      change.dns_nameservers === undefined
        ? before.dnsServers
        : dnsServersOf(change.dns_nameservers),
    hostRoutes:
      change.host_routes === undefined
        ? before.hostRoutes
        : hostRoutesOf(change.host_routes, before.ipVersion),
    ...changedAddresses(before, change),
  }
  await networks.db.transaction(async (tx) => {
    await holdRevision(tx, 'subnets', id, wantedRevision)
    await writeSubnet(tx, after, new Date(networks.clock.now()))
  })
  const changed = await findSubnet(networks.db, id)
  if (changed === undefined) throw new Failure('not-found', `Subnet ${id} could not be found.`)
  return changed
}

function changedAddresses(
  before: Subnet,
  change: SubnetChange,
): Pick<Subnet, 'gatewayIp' | 'pools'> {
  const cidr = parseCidr(before.cidr, 'cidr')
  const gateway: Ip | null =
    change.gateway_ip === undefined
      ? before.gatewayIp === null
        ? null
        : parseIp(before.gatewayIp, 'gateway_ip')
      : gatewayOf(cidr, change.gateway_ip)
  const pools =
    change.allocation_pools === undefined
      ? checkedPools(cidr, gateway, before.pools)
      : poolsOf(cidr, gateway, change.allocation_pools)
  return { gatewayIp: gateway === null ? null : formatIp(gateway.version, gateway.value), pools }
}
