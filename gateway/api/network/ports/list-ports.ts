import type { operations } from '#openapi/network.gen.ts'
import { listPorts as listPage } from '../../../app/networks/list-ports.ts'
import type { Handler } from '../../../http/operation.ts'
import { queryPairs } from '../../../http/query-pairs.ts'
import { portView } from '../../../views/network/port.ts'
import { pageBody } from '../page-body.ts'

/** GET /v2.0/ports */
export const listPorts: Handler<operations['listPorts']> = async (call) => {
  const { app, context, raw } = call
  const page = await listPage(app.networks, context, queryPairs(raw.search))
  return { body: pageBody(call, 'ports', page, (item) => portView(item, context)) }
}
