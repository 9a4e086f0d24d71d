import type { Network } from '../../db/network.ts'
import { listNetworks as readNetworks } from '../../db/networks.ts'
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
  status: 'text',
  admin_state_up: 'boolean',
  shared: 'boolean',
  'router:external': 'boolean',
  port_security_enabled: 'boolean',
  mtu: 'integer',
}

/** A page of the networks the requester may see. */
export async function listNetworks(
  networks: Networks,
  requester: Requester,
  query: ListQuery,
): Promise<Listed<Network>> {
  const page = pageOf(query, FILTERS)
  return listed(await readNetworks(networks.db, scopeOf(requester), page), page)
}
