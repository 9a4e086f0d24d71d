import type { operations } from '#openapi/federation.gen.ts'
import { federationHealth } from '../../app/federation/health.ts'
import type { Handler } from '../../http/operation.ts'

/** GET /v1/health */
export const showHealth: Handler<operations['showHealth']> = async ({ app }) => {
  const { compute, nats, gateways, config } = app
  const { status, checks } = await federationHealth({
    ...compute,
    nats,
    gateways,
    databaseUrl: config.databaseUrl,
    sendsNotifications: config.notifications !== undefined,
  })
  return { body: { status, checks: [...checks] } }
}
