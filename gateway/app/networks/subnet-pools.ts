import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import {
  findSubnetPool,
  listSubnetPools as readPools,
  type SubnetPool,
} from '../../db/subnet-pools.ts'
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
import { NetworkFailure } from './network-failure.ts'
import { isOwner, scopeOf } from './visible.ts'

const FILTERS: FilterKinds = {
  ...DESCRIBED_FILTERS,
  ip_version: 'integer',
  default_prefixlen: 'integer',
  min_prefixlen: 'integer',
  max_prefixlen: 'integer',
  default_quota: 'integer',
  shared: 'boolean',
  is_default: 'boolean',
}

/** A page of the pools the requester may see. */
export async function listSubnetPools(
  { db }: Networks,
  requester: Requester,
  query: ListQuery,
): Promise<Listed<SubnetPool>> {
  const page = pageOf(query, FILTERS)
  return listed(await readPools(db, scopeOf(requester), page), page)
}

/** The pool, if it is the requester's or shared; else `not-found`. */
export async function visibleSubnetPool(
  { db }: Pick<Networks, 'db'>,
  requester: Requester,
  id: string,
): Promise<SubnetPool> {
  const pool = isUuid(id) ? await findSubnetPool(db, id) : undefined
  if (pool === undefined || !(pool.isShared || isOwner(requester, pool))) throw poolNotFound(id)
  return pool
}

/** The pool, if the requester may change it: `forbidden` where he only sees it. */
export async function ownSubnetPool(
  networks: Networks,
  requester: Requester,
  id: string,
): Promise<SubnetPool> {
  const pool = await visibleSubnetPool(networks, requester, id)
  if (isOwner(requester, pool)) return pool
  throw new Failure('forbidden', `You are not permitted to change subnet pool ${id}.`)
}

/** No such pool, as far as the requester knows. */
export function poolNotFound(id: string): NetworkFailure {
  return new NetworkFailure(
    'not-found',
    'SubnetPoolNotFound',
    `Subnet pool ${id} could not be found.`,
  )
}
