import type { operations } from '#openapi/compute.gen.ts'
import { takeExternalEvents } from '../../app/events/external-events.ts'
import type { Handler } from '../../http/operation.ts'

const createServerExternalEvents: Handler<operations['createServerExternalEvents']> = async (
  call,
) => {
  const { app, context, body } = call
  const asked = body.events.map(({ name, server_uuid: serverId, status = 'completed', tag }) => {
    return { name, serverId, status, tag }
  })
  const codes = await takeExternalEvents(app.compute, context, asked)
  const events = body.events.map((event, index) => {
    const code = codes[index]!
    return { ...event, code, status: code === 200 ? ('completed' as const) : ('failed' as const) }
  })
  return { body: { events }, status: codes.every((code) => code === 200) ? 200 : 207 }
}

export const eventHandlers = { createServerExternalEvents }
