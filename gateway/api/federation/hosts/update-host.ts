import type { operations } from '#openapi/federation.gen.ts'
import { findOperatedHost } from '../../../app/federation/hosts.ts'
import { setService } from '../../../app/hosts/set-service.ts'
import { requireMatch } from '../../../http/entity-tag.ts'
import type { Handler } from '../../../http/operation.ts'
import { hostTag, hostView } from '../../../views/federation/host.ts'

/** PATCH /v1/hosts/{host} */
export const updateHost: Handler<operations['updateHost']> = async (call) => {
  const { app, context, params, body, raw } = call
  const found = await findOperatedHost(app.db, params.host)
  requireMatch(raw.header('if-match'), hostTag(found))
  const { is_cordoned: isDisabled, cordon_reason: disabledReason } = body
  const change = { isDisabled, ...(disabledReason === undefined ? {} : { disabledReason }) }
  const host = await setService(app.compute, context, found, change)
  return { body: hostView(host, app.compute.cells), headers: { ETag: hostTag(host) } }
}
