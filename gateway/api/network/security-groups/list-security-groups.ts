import type { operations } from '#openapi/network.gen.ts'
import { listSecurityGroups as listPage } from '../../../app/networks/list-security-groups.ts'
import type { Handler } from '../../../http/operation.ts'
import { queryPairs } from '../../../http/query-pairs.ts'
import { securityGroupView } from '../../../views/network/security-group.ts'
import { pageBody } from '../page-body.ts'

/** GET /v2.0/security-groups */
export const listSecurityGroups: Handler<operations['listSecurityGroups']> = async (call) => {
  const { app, context, raw } = call
  const page = await listPage(app.networks, context, queryPairs(raw.search))
  return { body: pageBody(call, 'security_groups', page, securityGroupView) }
}
