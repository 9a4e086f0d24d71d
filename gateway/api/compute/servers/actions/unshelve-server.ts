import type { operations } from '#openapi/compute.gen.ts'
import { unshelveServer as unshelve } from '../../../../app/servers/unshelve-server.ts'
import type { Handler } from '../../../../http/operation.ts'
import { isSince } from '../../../../views/since.ts'

interface Place {
  readonly availability_zone?: string | null
  readonly host?: string
}

export const unshelveServer: Handler<operations['unshelveServer']> = async (call) => {
  const { app, context, params, body } = call
  // Until 2.76 the value means nothing.
  const hasMeaning = isSince(context, '2.77') && isPlace(body.unshelve)
  const place: Place = hasMeaning ? (body.unshelve as Place) : {}
  const { availability_zone: zone, host = null } = place
  await unshelve(app.compute, context, params.server_id, { zone, host })
  return {}
}

function isPlace(value: unknown): value is Place {
  return typeof value === 'object' && value !== null
}
