import type { operations } from '#openapi/network.gen.ts'
import { listSubnets as listPage } from '../../../app/networks/list-subnets.ts'
import type { Handler } from '../../../http/operation.ts'
import { queryPairs } from '../../../http/query-pairs.ts'
import { subnetView } from '../../../views/network/subnet.ts'
import { pageBody } from '../page-body.ts'

/** GET /v2.0/subnets */
export const listSubnets: Handler<operations['listSubnets']> = async (call) => {
  const { app, context, raw } = call
  const page = await listPage(app.networks, context, queryPairs(raw.search))
  return { body: pageBody(call, 'subnets', page, subnetView) }
}
