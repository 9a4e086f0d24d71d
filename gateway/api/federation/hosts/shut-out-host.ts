import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedHost } from '../../../app/federation/hosts.ts'
import { shutOutHost as shutOut } from '../../../app/federation/shut-out-host.ts'
import type { Handler } from '../../../http/operation.ts'

/** DELETE /v1/hosts/{host}/credentials */
export const shutOutHost: Handler<operations['shutOutHost']> = async ({ app, params }) => {
  await shutOut(app.db, app.access, await findOperatedHost(app.db, params.host))
  return {}
}
