import type { Port } from '../../db/network.ts'
import { findNetworks } from '../../db/networks.ts'
import { listPorts as readPorts } from '../../db/ports.ts'
import type { Requester } from '../requester.ts'
import type { Networks } from './list-networks.ts'
import {
  DESCRIBED_FILTERS,
  type FilterKinds,
  type Listed,
  type ListQuery,
  listed,
  pageOf,
} from './list-query.ts'
import { scopeOf } from './visible.ts'

const FILTERS: FilterKinds = {
  ...DESCRIBED_FILTERS,
  network_id: 'text',
  mac_address: 'mac',
  status: 'text',
  device_id: 'text',
  device_owner: 'text',
  'binding:host_id': 'text',
  security_groups: 'text',
  admin_state_up: 'boolean',
  port_security_enabled: 'boolean',
}

/** A page of the ports the requester may see. */
export async function listPorts(
  networks: Networks,
  requester: Requester,
  query: ListQuery,
): Promise<Listed<Port>> {
  const page = pageOf(query, FILTERS)
  return listed(await readPorts(networks.db, scopeOf(requester), page), page)
}

/** The DNS domains of the ports, by their network; empty: the default domain. */
export async function dnsDomains(
  { db }: Networks,
  ports: readonly Port[],
): Promise<ReadonlyMap<string, string>> {
  const found = await findNetworks(db, [...new Set(ports.map(({ networkId }) => networkId))])
  return new Map(found.map(({ id, dnsDomain }) => [id, dnsDomain]))
}
