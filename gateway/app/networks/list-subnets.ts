import type { Subnet } from '../../db/network.ts'
import { listSubnets as readSubnets } from '../../db/subnets.ts'
import type { Requester } from '../requester.ts'
import {
  DESCRIBED_FILTERS,
  type FilterKinds,
  type Listed,
  type ListQuery,
  listed,
  pageOf,
} from './list-query.ts'
import type { Networks } from './networks.ts'
import { scopeOf } from './visible.ts'

const FILTERS: FilterKinds = {
  ...DESCRIBED_FILTERS,
  network_id: 'text',
  cidr: 'text',
  gateway_ip: 'text',
  ip_version: 'integer',
  enable_dhcp: 'boolean',
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
