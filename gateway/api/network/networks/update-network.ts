import type { operations } from '#openapi/network.gen.ts'
import { updateNetwork as update } from '../../../app/networks/update-network.ts'
import type { Handler } from '../../../http/operation.ts'
import { networkView } from '../../../views/network/network.ts'
import { wantedRevision } from '../wanted-revision.ts'

/** PUT /v2.0/networks/{network_id} */
export const updateNetwork: Handler<operations['updateNetwork']> = async (call) => {
  const { app, context, params, body, raw } = call
  const changed = await update(
    app.networks,
    context,
    params.network_id,
    body.network,
    wantedRevision(raw),
  )
  return { body: { network: networkView(changed, context) } }
}
