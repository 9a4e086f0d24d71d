import type { Tx } from '#common/db/database.ts'
import { isUuid } from '#common/ids.ts'
import {
  findRouter,
  lockRouter,
  type Router,
  listRouters as readRouters,
} from '../../../db/routers.ts'
import type { Requester } from '../../requester.ts'
import type { Networks } from '../list-networks.ts'
import {
  DESCRIBED_FILTERS,
  type FilterKinds,
  type Listed,
  type ListQuery,
  listed,
  pageOf,
} from '../list-query.ts'
import { NetworkFailure } from '../network-failure.ts'
import { isOwner, scopeOf } from '../visible.ts'

const FILTERS: FilterKinds = { ...DESCRIBED_FILTERS, status: 'text', admin_state_up: 'boolean' }

/** A page of the routers the requester may see. */
export async function listRouters(
  { db }: Networks,
  requester: Requester,
  query: ListQuery,
): Promise<Listed<Router>> {
  const page = pageOf(query, FILTERS)
  return listed(await readRouters(db, scopeOf(requester), page), page)
}

/** The router, if it is the requester's; else `not-found`. */
export async function ownRouter(
  { db }: Pick<Networks, 'db'>,
  requester: Requester,
  id: string,
): Promise<Router> {
  const router = isUuid(id) ? await findRouter(db, id) : undefined
  if (router === undefined || !isOwner(requester, router)) throw routerNotFound(id)
  return router
}

/** The router, which nothing else changes until the transaction ends. Throws `not-found`. */
export async function lockedRouter(tx: Tx, id: string): Promise<Router> {
  const router = await lockRouter(tx, id)
  if (router === undefined) throw routerNotFound(id)
  return router
}

function routerNotFound(id: string): NetworkFailure {
  return new NetworkFailure('not-found', 'RouterNotFound', `Router ${id} could not be found`)
}
