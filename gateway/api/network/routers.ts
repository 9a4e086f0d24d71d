import type { operations } from '#openapi/network.gen.ts'
import {
  addRoutes,
  createRouters,
  deleteRouter,
  removeRoutes,
  updateRouter,
} from '../../app/networks/routers/change-routers.ts'
import { listRouters, ownRouter } from '../../app/networks/routers/find-routers.ts'
import { addInterface, type RouterInterface } from '../../app/networks/routers/interfaces.ts'
import { removeInterface } from '../../app/networks/routers/remove-interface.ts'
import type { Requester } from '../../app/requester.ts'
import type { FixedIp } from '../../db/network.ts'
import type { Router, RouterCellGateway } from '../../db/routers.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { queryPairs } from '../../http/query-pairs.ts'
import { describedView } from '../../views/network/described.ts'
import { pageBody } from './page-body.ts'
import { oneOrSeveral, pick, wantedRevision } from './request.ts'

type List = operations['listRouters']
type Create = operations['createRouter']
type Show = operations['showRouter']
type Update = operations['updateRouter']
type Delete = operations['deleteRouter']
type AddInterface = operations['addRouterInterface']
type RemoveInterface = operations['removeRouterInterface']
type AddRoutes = operations['addRouterRoutes']
type RemoveRoutes = operations['removeRouterRoutes']

async function list(call: Call<List>): Promise<Answer<List>> {
  const { app, context, raw } = call
  const page = await listRouters(app.networks, context, queryPairs(raw.search))
  return { body: pageBody(call, 'routers', page, (router) => routerView(router, context)) }
}

async function create({ app, context, body }: Call<Create>): Promise<Answer<Create>> {
  const { router: one, routers: several } = body
  const answer = await oneOrSeveral({ one, several }, async (drafts) => {
    const made = await createRouters(app.networks, context, drafts)
    return made.map((router) => routerView(router, context))
  })
  return { body: { router: answer.one, routers: answer.several } }
}

async function show({ app, context, params, query }: Call<Show>): Promise<Answer<Show>> {
  const found = await ownRouter(app.networks, context, params.router_id)
  return { body: { router: pick(routerView(found, context), query.fields) } }
}

async function update(call: Call<Update>): Promise<Answer<Update>> {
  const { app, context, params, body, raw } = call
  const id = params.router_id
  const wanted = wantedRevision(raw)
  const changed = await updateRouter(app.networks, context, id, body.router, wanted)
  return { body: { router: routerView(changed, context) } }
}

async function remove({ app, context, params, raw }: Call<Delete>): Promise<Answer<Delete>> {
  await deleteRouter(app.networks, context, params.router_id, wantedRevision(raw))
  return {}
}

async function attach(call: Call<AddInterface>): Promise<Answer<AddInterface>> {
  const { app, context, params, body } = call
  return { body: interfaceView(await addInterface(app.networks, context, params.router_id, body)) }
}

async function detach(call: Call<RemoveInterface>): Promise<Answer<RemoveInterface>> {
  const { app, context, params, body } = call
  const removed = await removeInterface(app.networks, context, params.router_id, body)
  return { body: interfaceView(removed) }
}

async function addSome(call: Call<AddRoutes>): Promise<Answer<AddRoutes>> {
  const { app, context, params, body } = call
  const { routes } = body.router
  const changed = await addRoutes(app.networks, context, params.router_id, routes)
  return { body: { router: routerView(changed, context) } }
}

async function removeSome(call: Call<RemoveRoutes>): Promise<Answer<RemoveRoutes>> {
  const { app, context, params, body } = call
  const { routes } = body.router
  const changed = await removeRoutes(app.networks, context, params.router_id, routes)
  return { body: { router: routerView(changed, context) } }
}

/** What openapi/network/routers.yaml describes. */
export const routerHandlers = {
  listRouters: list,
  createRouter: create,
  showRouter: show,
  updateRouter: update,
  deleteRouter: remove,
  addRouterInterface: attach,
  removeRouterInterface: detach,
  addRouterRoutes: addSome,
  removeRouterRoutes: removeSome,
}

/** A router; that it is highly available, as all of OVN's are, and its addresses in cells are shown to administrators. */
function routerView(router: Router, requester: Requester) {
  return {
    ...describedView(router),
    admin_state_up: router.isUp,
    status: 'ACTIVE' as const,
    external_gateway_info: gatewayView(router),
    routes: router.routes,
    availability_zone_hints: [],
    availability_zones: [],
    flavor_id: null,
    ...(requester.isAdmin
      ? { ha: true, 'weir:gateways': router.cellGateways.map(cellGatewayView) }
      : {}),
  }
}

function gatewayView({ gateway, hasSnat }: Router) {
  if (gateway === null) return null
  return {
    network_id: gateway.networkId,
    enable_snat: hasSnat,
    external_fixed_ips: gateway.fixedIps.map(fixedIpView),
  }
}

function cellGatewayView({ cellId, portId, fixedIps }: RouterCellGateway) {
  return { cell_id: cellId, port_id: portId, external_fixed_ips: fixedIps.map(fixedIpView) }
}

function fixedIpView({ subnetId, address }: FixedIp) {
  return { subnet_id: subnetId, ip_address: address }
}

function interfaceView({ routerId, port, subnetIds }: RouterInterface) {
  return {
    id: routerId,
    project_id: port.projectId,
    tenant_id: port.projectId,
    port_id: port.id,
    network_id: port.networkId,
    subnet_id: subnetIds.at(-1)!,
    subnet_ids: subnetIds,
    tags: [],
  }
}
