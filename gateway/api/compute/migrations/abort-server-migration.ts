import type { operations } from '#openapi/compute.gen.ts'
import { steerLiveMigration } from '../../../app/migrations/live-migrations.ts'
import type { Handler } from '../../../http/operation.ts'
import { isSince } from '../../../views/since.ts'

export const abortServerMigration: Handler<operations['abortServerMigration']> = async (call) => {
  const { app, context, params } = call
  await steerLiveMigration(app.compute, context, params.server_id, params.migration_id, {
    action: 'abort-migration',
    method: 'abort live migration',
    // Since 2.65 also one that waits for its turn.
    from: isSince(context, '2.65') ? ['running', 'queued', 'preparing'] : ['running'],
    missing: 'not-found',
  })
  return {}
}
