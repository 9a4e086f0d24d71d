import type { Tx } from '#common/db/database.ts'
import { newId } from '#common/ids.ts'
import type { HostRoute } from '../../../db/network.ts'
import {
  attachedSubnets,
  deleteRouterRow,
  insertRouter,
  type Router,
  updateRouter as writeRouter,
} from '../../../db/routers.ts'
import type { Requester } from '../../requester.ts'
import { requireRouting } from '../engine.ts'
import type { Networks } from '../list-networks.ts'
import { NetworkFailure } from '../network-failure.ts'
import { charge, refund } from '../quotas.ts'
import { holdRevision } from '../revision.ts'
import { ownerOf } from '../visible.ts'
import { lockedRouter, ownRouter } from './find-routers.ts'
import {
  changeGateway,
  type GatewayChange,
  type GatewayFields,
  refuseAdminFields,
  removeGateway,
} from './gateway.ts'
import { canonicalRoute, checkedRoutes, refuseUnreachable, routeKey } from './routes.ts'

/** A router as requests write it. */
export interface RouterFields {
  readonly name?: string
  readonly description?: string
  readonly admin_state_up?: boolean
  /** Null, or without a network: no gateway. */
  readonly external_gateway_info?: GatewayFields | null
  readonly routes?: readonly HostRoute[] | null
  readonly ha?: boolean
}

export interface RouterDraft extends RouterFields {
  readonly project_id?: string
  readonly tenant_id?: string
}

/**
 * Afterwards all of these routers exist, with their gateways, or none. Throws `unsupported` without a cell that has
 * OVN, `forbidden` for attributes of administrators, `conflict` if the external network has no free address,
 * `over-quota`.
 */
export async function createRouters(
  networks: Networks,
  requester: Requester,
  drafts: readonly RouterDraft[],
): Promise<readonly Router[]> {
  for (const draft of drafts) refuseAdminFields(requester, draft)
  const planned = drafts.map((draft) => newRouter(networks, requester, draft))
  await requireRouting(networks.db, 'A router')
  return networks.db.transaction(async (tx) => {
    const made: Router[] = []
    for (const [index, router] of planned.entries()) {
      made.push(
        await placeRouter(tx, {
          networks,
          requester,
          router,
          info: drafts[index]!.external_gateway_info,
        }),
      )
    }
    return made
  })
}

/** Afterwards the router exists, with the requested gateway, and is counted. Throws like `createRouters`. */
export async function placeRouter(tx: Tx, change: GatewayChange): Promise<Router> {
  const { router } = change
  const complete = { ...router, gateway: await changeGateway(tx, change) }
  await refuseUnreachable(tx, complete, [])
  await insertRouter(tx, complete)
  await charge(tx, router.projectId, 'router')
  return complete
}

/** The router that a request wants, without its gateway. Throws as the creation does. */
export function newRouter({ clock }: Networks, requester: Requester, draft: RouterDraft): Router {
  const now = new Date(clock.now())
  const blank: Router = {
    id: newId(),
    projectId: ownerOf(requester, draft.project_id ?? draft.tenant_id),
    name: '',
    description: '',
    isUp: true,
    hasSnat: true,
    gateway: null,
    cellGateways: [],
    routes: [],
    createdAt: now,
    updatedAt: now,
    revision: 1,
    tags: [],
  }
  return withFields(blank, draft)
}

function withFields(router: Router, fields: RouterFields): Router {
  const { routes, external_gateway_info: info } = fields
  return {
    ...router,
    name: fields.name ?? router.name,
    description: fields.description ?? router.description,
    isUp: fields.admin_state_up ?? router.isUp,
    hasSnat: info === undefined ? router.hasSnat : (info?.enable_snat ?? true),
    routes: routes === undefined ? router.routes : checkedRoutes(router.id, routes ?? []),
  }
}

/**
 * Afterwards the router has these fields. Throws `conflict` when floating IPs need its gateway, `invalid` for routes that lead
 * nowhere, and as the creation does.
 */
export function updateRouter(
  networks: Networks,
  requester: Requester,
  id: string,
  fields: RouterFields,
  wantedRevision?: number,
): Promise<Router> {
  refuseAdminFields(requester, fields)
  return changeRouter(networks, requester, id, () => fields, wantedRevision)
}

async function changeRouter(
  networks: Networks,
  requester: Requester,
  id: string,
  fieldsFor: (router: Router) => RouterFields,
  wantedRevision?: number,
): Promise<Router> {
  await ownRouter(networks, requester, id)
  return networks.db.transaction(async (tx) => {
    const router = await lockedRouter(tx, id)
    await holdRevision(tx, 'routers', id, wantedRevision)
    const fields = fieldsFor(router)
    const info = fields.external_gateway_info
    const gateway = await changeGateway(tx, { networks, requester, router, info })
    const after = { ...withFields(router, fields), gateway, cellGateways: inCells(router, gateway) }
    await refuseUnreachable(tx, after, await attachedSubnets(tx, id))
    const now = new Date(networks.clock.now())
    await writeRouter(tx, after, now)
    return { ...after, updatedAt: now, revision: after.revision + 1 }
  })
}

/** Of a router that has this gateway now: with another one it leads outside in no cell yet. */
function inCells({ cellGateways }: Router, gateway: Router['gateway']): Router['cellGateways'] {
  const own = cellGateways.find(({ portId }) => portId === gateway?.portId)
  if (gateway === null || own === undefined) return []
  return cellGateways.map((each) => (each === own ? { ...each, fixedIps: gateway.fixedIps } : each))
}

/** Afterwards the router is gone, and its gateway with it. Throws `conflict` while it has interfaces. */
export async function deleteRouter(
  networks: Networks,
  requester: Requester,
  id: string,
  wantedRevision?: number,
): Promise<void> {
  await ownRouter(networks, requester, id)
  await networks.db.transaction(async (tx) => {
    const router = await lockedRouter(tx, id)
    await holdRevision(tx, 'routers', id, wantedRevision)
    const ports = new Set((await attachedSubnets(tx, id)).map(({ portId }) => portId))
    if (ports.size > 0)
      throw new NetworkFailure(
        'conflict',
        'RouterInUse',
        `Router ${id} has ports still attached: ${[...ports].join(', ')}`,
      )
    await dropRouter(tx, router)
  })
}

/** Afterwards the router, which has no interfaces, is gone, and its gateway with it. Part of a transaction that holds it. */
export async function dropRouter(tx: Tx, router: Router): Promise<void> {
  await removeGateway(tx, router)
  await deleteRouterRow(tx, router.id)
  refund(tx, router.projectId, 'router')
}

/** Afterwards the router has these routes besides those it had. Throws as `updateRouter`. */
export function addRoutes(
  networks: Networks,
  requester: Requester,
  id: string,
  added: readonly HostRoute[],
): Promise<Router> {
  return changeRouter(networks, requester, id, ({ routes }) => ({ routes: [...routes, ...added] }))
}

/** Afterwards the router does not have these routes; a missing one is no failure. */
export function removeRoutes(
  networks: Networks,
  requester: Requester,
  id: string,
  removed: readonly HostRoute[],
): Promise<Router> {
  return changeRouter(networks, requester, id, ({ routes }) => {
    const gone = new Set(removed.map((route) => routeKey(canonicalRoute(route))))
    return { routes: routes.filter((route) => !gone.has(routeKey(route))) }
  })
}
