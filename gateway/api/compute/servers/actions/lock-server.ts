import type { operations } from '#openapi/compute.gen.ts'
import { lockServer as lock } from '../../../../app/servers/lock-server.ts'
import type { Handler } from '../../../../http/operation.ts'
import { isSince } from '../../../../views/since.ts'

export const lockServer: Handler<operations['lockServer']> = async (call) => {
  const { app, context, params, body } = call
  // Before 2.73 the value is not looked at.
  const asked = isSince(context, '2.73') ? (body.lock as { locked_reason?: string } | null) : null
  await lock(app.compute, context, params.server_id, asked?.locked_reason ?? null)
  return {}
}
