import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { AddressRange, HostRoute, Subnet } from '../../db/network.ts'
import { lockNetwork } from '../../db/networks.ts'
import { interfaceAt, isOnRouter } from '../../db/routers.ts'
import {
  deleteSubnetRow,
  findSubnet,
  portsOnSubnet,
  listSubnets as readSubnets,
  updateSubnet as writeSubnet,
} from '../../db/subnets.ts'
import type { Requester } from '../requester.ts'
import { retryStale } from '../retry-stale.ts'
import { removeAutoAddresses } from './auto-addresses.ts'
import { formatIp, type Ip, parseCidr, parseIp } from './ip.ts'
import type { Networks } from './list-networks.ts'
import {
  DESCRIBED_FILTERS,
  type FilterKinds,
  type Listed,
  type ListQuery,
  listed,
  pageOf,
} from './list-query.ts'
import { releaseMetadataAddress } from './metadata-ports.ts'
import { NetworkFailure } from './network-failure.ts'
import { checkedPools } from './pools.ts'
import { refund } from './quotas.ts'
import { holdRevision } from './revision.ts'
import {
  dnsServersOf,
  gatewayOf,
  hostRoutesOf,
  isAutoAddressed,
  poolsOf,
} from './subnet-addressing.ts'
import { ownSubnet, scopeOf } from './visible.ts'

interface SubnetChange {
  readonly name?: string
  readonly description?: string
  readonly gateway_ip?: string | null
  readonly enable_dhcp?: boolean
  readonly dns_nameservers?: readonly string[]
  readonly host_routes?: readonly HostRoute[]
  readonly allocation_pools?: readonly AddressRange[]
}

/** Afterwards the subnet has these fields; addresses handed out stay. Throws `conflict` for a gateway inside a pool, or one that a router has. */
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
    if (after.gatewayIp !== before.gatewayIp) await refuseGatewayInUse(tx, before)
    await writeSubnet(tx, after, new Date(networks.clock.now()))
  })
  const changed = await findSubnet(networks.db, id)
  if (changed === undefined) throw new Failure('not-found', `Subnet ${id} could not be found.`)
  return changed
}

async function refuseGatewayInUse(tx: Tx, { id, gatewayIp }: Subnet): Promise<void> {
  const port = gatewayIp === null ? undefined : await interfaceAt(tx, id, gatewayIp)
  if (port === undefined) return
  throw new NetworkFailure(
    'conflict',
    'GatewayIpInUse',
    `Current gateway ip ${gatewayIp} already in use by port ${port}. Unable to update.`,
  )
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

/** Afterwards the subnet is gone. Throws `conflict` while a port has an address of the subnet. */
export async function deleteSubnet(
  networks: Networks,
  requester: Requester,
  id: string,
  wantedRevision?: number,
): Promise<void> {
  const subnet = await ownSubnet(networks, requester, id)
  await networks.db.transaction(async (tx) => {
    // Ports are placed under a shared lock on their network.
    await lockNetwork(tx, subnet.networkId)
    await holdRevision(tx, 'subnets', id, wantedRevision)
    // Addresses that guests make by themselves end with the prefix.
    if (isAutoAddressed(subnet) && !(await isOnRouter(tx, id)))
      await removeAutoAddresses(tx, subnet)
    await releaseMetadataAddress(tx, subnet)
    if ((await portsOnSubnet(tx, id, 1)).length > 0)
      throw new NetworkFailure(
        'conflict',
        'SubnetInUse',
        `Unable to complete operation on subnet ${id}: One or more ports have an IP allocation from this subnet.`,
      )
    if (!(await deleteSubnetRow(tx, id)))
      throw new Failure('not-found', `Subnet ${id} could not be found.`)
    refund(tx, subnet.projectId, 'subnet')
  })
}

const FILTERS: FilterKinds = {
  ...DESCRIBED_FILTERS,
  network_id: 'text',
  cidr: 'text',
  gateway_ip: 'text',
  ip_version: 'integer',
  enable_dhcp: 'boolean',
  subnetpool_id: 'text',
  ipv6_ra_mode: 'text',
  ipv6_address_mode: 'text',
}

/** A page of the subnets the requester may see. */
export async function listSubnets(
  networks: Networks,
  requester: Requester,
  query: ListQuery,
): Promise<Listed<Subnet>> {
  const page = pageOf(query, FILTERS)
  return listed(await readSubnets(networks.db, scopeOf(requester), page), page)
}
