import type { operations } from '#openapi/network.gen.ts'
import { listNetworks as listPage } from '../../../app/networks/list-networks.ts'
import type { Handler } from '../../../http/operation.ts'
import { queryPairs } from '../../../http/query-pairs.ts'
import { networkView } from '../../../views/network/network.ts'
import { pageBody } from '../page-body.ts'

/** GET /v2.0/networks */
export const listNetworks: Handler<operations['listNetworks']> = async (call) => {
  const { app, context, raw } = call
  const page = await listPage(app.networks, context, queryPairs(raw.search))
  return { body: pageBody(call, 'networks', page, (item) => networkView(item, context)) }
}
