import type { operations } from '#openapi/network.gen.ts'
import { createPort as create } from '../../../app/networks/create-port.ts'
import type { Handler } from '../../../http/operation.ts'
import { portView } from '../../../views/network/port.ts'

/** POST /v2.0/ports */
export const createPort: Handler<operations['createPort']> = async (call) => {
  const { app, context, body } = call
  const created = await create(app.networks, context, body.port)
  return { body: { port: portView(created, context) } }
}
