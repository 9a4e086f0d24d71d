import type { Subnet } from '../../db/network.ts'
import { listSubnets as readSubnets } from '../../db/subnets.ts'
import type { Requester } from '../requester.ts'
import { type FilterKinds, type ListQuery, pageOf } from './list-query.ts'
import type { Networks } from './networks.ts'
import { scopeOf } from './visible.ts'

const FILTERS: FilterKinds = {
  id: 'text',
  name: 'text',
  description: 'text',
  project_id: 'text',
  tenant_id: 'text',
  network_id: 'text',
  cidr: 'text',
  gateway_ip: 'text',
  ip_version: 'integer',
  enable_dhcp: 'boolean',
}

/** A page of the subnets the requester may see. */
export function listSubnets(
  networks: Networks,
  requester: Requester,
  query: ListQuery,
): Promise<readonly Subnet[]> {
  return readSubnets(networks.db, scopeOf(requester), pageOf(query, FILTERS))
}
