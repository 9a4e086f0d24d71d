import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/compute.gen.ts'
import { enforce } from '../../../../app/policy.ts'
import { liveMigrateServer as migrate } from '../../../../app/servers/move-server.ts'
import type { Handler } from '../../../../http/operation.ts'
import { isSince } from '../../../../views/since.ts'
import { isTrueFlag } from './true-flag.ts'

export const liveMigrateServer: Handler<operations['liveMigrateServer']> = async (call) => {
  const { app, context, params, body } = call
  const { host, force } = body['os-migrateLive'] as { host: string | null; force?: unknown }
  if (host !== null) enforce(context, 'os_compute_api:os-migrate-server:migrate_live:host')
  if (isTrueFlag(force) && host === null)
    throw new Failure('invalid', "Can't force to a non-provided destination")
  // Since 2.34 the answer comes before what the scheduler says.
  const isAwaited = !isSince(context, '2.34')
  await migrate(app.compute, context, params.server_id, { host, isAwaited })
  return {}
}
