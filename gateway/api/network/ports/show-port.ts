import type { operations } from '#openapi/network.gen.ts'
import { visiblePort } from '../../../app/networks/visible.ts'
import type { Handler } from '../../../http/operation.ts'
import { portView } from '../../../views/network/port.ts'
import { pick } from '../pick.ts'

/** GET /v2.0/ports/{port_id} */
export const showPort: Handler<operations['showPort']> = async (call) => {
  const { app, context, params, query } = call
  const found = await visiblePort(app.networks, context, params.port_id)
  return { body: { port: pick(portView(found, context), query.fields) } }
}
