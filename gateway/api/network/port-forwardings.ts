import type { operations } from '#openapi/network.gen.ts'
import {
  createPortForwarding,
  deletePortForwarding,
  listPortForwardings,
  ownPortForwarding,
  updatePortForwarding,
} from '../../app/networks/port-forwardings.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { queryPairs } from '../../http/query-pairs.ts'
import { portForwardingView } from '../../views/network/port-forwarding.ts'
import { pageBody } from './page-body.ts'
import { pick } from './request.ts'

type List = operations['listPortForwardings']
type Create = operations['createPortForwarding']
type Show = operations['showPortForwarding']
type Update = operations['updatePortForwarding']
type Delete = operations['deletePortForwarding']

async function list(call: Call<List>): Promise<Answer<List>> {
  const { app, context, params, raw } = call
  const query = queryPairs(raw.search)
  const page = await listPortForwardings(app.networks, context, params.floatingip_id, query)
  return { body: pageBody(call, 'port_forwardings', page, portForwardingView) }
}

async function create({ app, context, params, body }: Call<Create>): Promise<Answer<Create>> {
  const { floatingip_id: ip } = params
  const made = await createPortForwarding(app.networks, context, ip, body.port_forwarding)
  return { body: { port_forwarding: portForwardingView(made) } }
}

async function show({ app, context, params, query }: Call<Show>): Promise<Answer<Show>> {
  const { floatingip_id: ip, port_forwarding_id: id } = params
  const found = await ownPortForwarding(app.networks, context, ip, id)
  return { body: { port_forwarding: pick(portForwardingView(found), query.fields) } }
}

async function update({ app, context, params, body }: Call<Update>): Promise<Answer<Update>> {
  const { floatingip_id: ip, port_forwarding_id: id } = params
  const changed = await updatePortForwarding(app.networks, context, ip, id, body.port_forwarding)
  return { body: { port_forwarding: portForwardingView(changed) } }
}

async function remove({ app, context, params }: Call<Delete>): Promise<Answer<Delete>> {
  const { floatingip_id: ip, port_forwarding_id: id } = params
  await deletePortForwarding(app.networks, context, ip, id)
  return {}
}

/** What openapi/network/port-forwardings.yaml describes. */
export const portForwardingHandlers = {
  listPortForwardings: list,
  createPortForwarding: create,
  showPortForwarding: show,
  updatePortForwarding: update,
  deletePortForwarding: remove,
}
