import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedHost } from '../../../app/federation/hosts.ts'
import type { Handler } from '../../../http/operation.ts'
import { hostTag, hostView } from '../../../views/federation/host.ts'

/** GET /v1/hosts/{host} */
export const showHost: Handler<operations['showHost']> = async ({ app, params }) => {
  const host = await findOperatedHost(app.db, params.host)
  return { body: hostView(host, app.compute.cells), headers: { ETag: hostTag(host) } }
}
