import type { operations } from '#openapi/network.gen.ts'
import { updatePort as update } from '../../../app/networks/update-port.ts'
import type { Handler } from '../../../http/operation.ts'
import { portView } from '../../../views/network/port.ts'
import { wantedRevision } from '../wanted-revision.ts'

/** PUT /v2.0/ports/{port_id} */
export const updatePort: Handler<operations['updatePort']> = async (call) => {
  const { app, context, params, body, raw } = call
  const changed = await update(
    app.networks,
    context,
    params.port_id,
    body.port,
    wantedRevision(raw),
  )
  return { body: { port: portView(changed, context) } }
}
