import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import type { Network, Subnet } from '../../db/network.ts'
import { findNetworks, listNetworks } from '../../db/networks.ts'
import { addressCounts } from '../../db/port-addresses.ts'
import { subnetsOfNetworks } from '../../db/subnets.ts'
import { parseCidr } from './ip.ts'
import type { Networks } from './list-networks.ts'
import { type FilterKinds, type ListQuery, pageOf } from './list-query.ts'
import { poolOf } from './pools.ts'

/** How many addresses of a network ports have, and how many its pools hold. */
export interface IpAvailability {
  readonly network: Network
  readonly subnets: readonly SubnetAvailability[]
}

export interface SubnetAvailability {
  readonly subnet: Subnet
  readonly used: number
  /** Inexact above 2^53, which only IPv6 subnets have. */
  readonly total: number
}

const FILTERS: FilterKinds = {
  network_id: 'text',
  network_name: 'text',
  project_id: 'text',
  tenant_id: 'text',
  ip_version: 'integer',
}

/** The names of the filters for networks themselves. */
const OF_NETWORKS: Readonly<Record<string, string>> = { network_id: 'id', network_name: 'name' }

/** The counts of matching networks, at most one page. */
export async function ipAvailabilities(
  { db }: Networks,
  query: ListQuery,
): Promise<readonly IpAvailability[]> {
  const page = pageOf(query, FILTERS)
  const versions = page.filters.find(({ attribute }) => attribute === 'ip_version')?.anyOf
  const filters = page.filters
    .filter(({ attribute }) => attribute !== 'ip_version')
    .map(({ attribute, anyOf }) => ({ attribute: OF_NETWORKS[attribute] ?? attribute, anyOf }))
  const networks = await listNetworks(db, null, { ...page, filters })
  const all = await availabilityOf(db, networks)
  if (versions === undefined) return all
  return all.flatMap(({ network, subnets }) => {
    const matching = subnets.filter(({ subnet }) => versions.includes(subnet.ipVersion))
    return matching.length === 0 ? [] : [{ network, subnets: matching }]
  })
}

/** The counts of one network. Throws `not-found`. */
export async function ipAvailability({ db }: Networks, id: string): Promise<IpAvailability> {
  const found = isUuid(id) ? await findNetworks(db, [id]) : []
  const [one] = await availabilityOf(db, found)
  if (one === undefined) throw new Failure('not-found', `Network ${id} could not be found.`)
  return one
}

async function availabilityOf(
  db: Networks['db'],
  networks: readonly Network[],
): Promise<readonly IpAvailability[]> {
  const subnets = await subnetsOfNetworks(
    db,
    networks.map(({ id }) => id),
  )
  const used = await addressCounts(
    db,
    subnets.map(({ id }) => id),
  )
  const byNetwork = Map.groupBy(subnets, ({ networkId }) => networkId)
  return networks.map((network) => ({
    network,
    subnets: (byNetwork.get(network.id) ?? []).map((subnet) => ({
      subnet,
      used: used.get(subnet.id) ?? 0,
      total: totalOf(subnet),
    })),
  }))
}

function totalOf({ cidr: text, pools }: Subnet): number {
  const cidr = parseCidr(text, 'cidr')
  const sizes = pools
    .map((range) => poolOf(cidr, range))
    .map(({ first, last }) => last - first + 1n)
  return Number(sizes.reduce((sum, size) => sum + size, 0n))
}
