import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedHost } from '../../../app/federation/hosts.ts'
import { idempotencyKey } from '../../../app/idempotency-key.ts'
import { drainHost as drain } from '../../../app/operations/drain-host.ts'
import type { Handler } from '../../../http/operation.ts'
import { operationView } from '../../../views/federation/operation.ts'

/** POST /v1/hosts/{host}/drain */
export const drainHost: Handler<operations['drainHost']> = async (call) => {
  const { app, context, params, body, links, raw } = call
  const host = await findOperatedHost(app.db, params.host)
  const key = idempotencyKey(context, raw.header('idempotency-key'), [raw.path, body])
  const operation = await drain(app.db, context, host, body.reason ?? null, key)
  const headers = { Location: links.to(`/federation/v1/operations/${operation.id}`) }
  return { body: operationView(operation, app.compute.cells), headers }
}
