import type { operations } from '#openapi/compute.gen.ts'
import { enforce } from '../../../../app/policy.ts'
import { migrateServer as migrate } from '../../../../app/servers/move-server.ts'
import type { Handler } from '../../../../http/operation.ts'
import { isSince } from '../../../../views/since.ts'

export const migrateServer: Handler<operations['migrateServer']> = async (call) => {
  const { app, context, params, body } = call
  // Before 2.56 the value is not looked at.
  const asked = isSince(context, '2.56') ? (body.migrate as { host?: string | null } | null) : null
  const host = asked?.host ?? null
  if (host !== null) enforce(context, 'os_compute_api:os-migrate-server:migrate:host')
  await migrate(app.compute, context, params.server_id, host)
  return {}
}
