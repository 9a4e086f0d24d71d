import type { Clock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import type { Network } from '../../db/network.ts'
import { listNetworks as readNetworks } from '../../db/networks.ts'
import type { ResourcePage } from '../../db/resource-page.ts'
import type { Requester } from '../requester.ts'
import type { FreeAddresses } from './free-addresses.ts'
import {
  DESCRIBED_FILTERS,
  type FilterKinds,
  type Listed,
  type ListQuery,
  listed,
  pageOf,
} from './list-query.ts'
import type { PortKeys } from './tunnel-keys.ts'
import { scopeOf, visibleNetwork } from './visible.ts'

const FILTERS: FilterKinds = {
  ...DESCRIBED_FILTERS,
  status: 'text',
  admin_state_up: 'boolean',
  shared: 'boolean',
  'router:external': 'boolean',
  port_security_enabled: 'boolean',
  mtu: 'integer',
  is_default: 'boolean',
  'provider:network_type': 'text',
  'provider:physical_network': 'text',
  'provider:segmentation_id': 'integer',
}

/** A page of the networks the requester may see. */
export async function listNetworks(
  networks: Networks,
  requester: Requester,
  query: ListQuery,
): Promise<Listed<Network>> {
  const page = pageOf(query, FILTERS)
  const hidden = page.filters.find(({ attribute }) => attribute.startsWith('provider:'))
  if (hidden !== undefined && !requester.isAdmin)
    throw new Failure('forbidden', `Only an administrator may filter by ${hidden.attribute}.`)
  return listed(await readNetworks(networks.db, scopeOf(requester), page), page)
}

/** The services that the operations of the network service use. */
export interface Networks {
  readonly db: Database
  readonly clock: Clock
  readonly freeAddresses: FreeAddresses
  readonly portKeys: PortKeys
  /** The MTU of a network that sets none; it cannot be larger. */
  readonly mtuMax: number
}

/** The networks that the requester may see, at most one page. */
export async function usableNetworks(
  networks: Networks,
  requester: Requester,
): Promise<readonly Network[]> {
  return (await listNetworks(networks, requester, [])).items
}

/** One of them; throws `not-found` in Nova's words. */
export async function usableNetwork(
  networks: Networks,
  requester: Requester,
  id: string,
): Promise<Network> {
  try {
    return await visibleNetwork(networks, requester, id)
  } catch (error) {
    if (!isFailure(error, 'not-found')) throw error
    throw new Failure('not-found', 'Network not found', { cause: error })
  }
}

/** The objects whose shown fields match every filter; for short lists. */
export function matchFilters<T extends object>(
  objects: readonly T[],
  filters: ResourcePage['filters'],
): readonly T[] {
  return objects.filter((object) => {
    const shown = new Map<string, unknown>(Object.entries(object))
    return filters.every(({ attribute, anyOf }) =>
      anyOf.some((value) => shown.get(attribute) === value),
    )
  })
}
