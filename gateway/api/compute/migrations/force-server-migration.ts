import type { operations } from '#openapi/compute.gen.ts'
import { steerLiveMigration } from '../../../app/migrations/live-migrations.ts'
import type { Handler } from '../../../http/operation.ts'

export const forceServerMigration: Handler<operations['forceServerMigration']> = async (call) => {
  const { app, context, params } = call
  await steerLiveMigration(app.compute, context, params.server_id, params.migration_id, {
    action: 'force-complete',
    method: 'force complete',
    from: ['running'],
    missing: 'invalid',
  })
  return {}
}
