import type { operations } from '#openapi/network.gen.ts'
import { createPorts } from '../../../app/networks/create-ports.ts'
import type { Handler } from '../../../http/operation.ts'
import { portView } from '../../../views/network/port.ts'
import { oneOrSeveral } from '../one-or-several.ts'

/** POST /v2.0/ports */
export const createPort: Handler<operations['createPort']> = async ({ app, context, body }) => {
  const { port: one, ports: several } = body
  const answer = await oneOrSeveral({ one, several }, async (drafts) => {
    const made = await createPorts(app.networks, context, drafts)
    return made.map((item) => portView(item, context))
  })
  return { body: { port: answer.one, ports: answer.several } }
}
