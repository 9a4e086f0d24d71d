import type { operations } from '#openapi/network.gen.ts'
import {
  createSecurityGroups,
  deleteSecurityGroup as remove,
  updateSecurityGroup as update,
} from '../../app/networks/change-security-group.ts'
import { listSecurityGroups as listPage } from '../../app/networks/list-security-groups.ts'
import { ownSecurityGroup } from '../../app/networks/visible.ts'
import type { SecurityGroup } from '../../db/network.ts'
import type { Handler } from '../../http/operation.ts'
import { queryPairs } from '../../http/query-pairs.ts'
import { describedView } from '../../views/network/described.ts'
import { ruleView } from '../../views/network/security-group-rule.ts'
import { pageBody } from './page-body.ts'
import { oneOrSeveral, pick, wantedRevision } from './request.ts'

/** POST /v2.0/security-groups */
export const createSecurityGroup: Handler<operations['createSecurityGroup']> = async ({
  app,
  context,
  body,
}) => {
  const { security_group: one, security_groups: several } = body
  const answer = await oneOrSeveral({ one, several }, async (drafts) => {
    const made = await createSecurityGroups(app.networks, context, drafts)
    return made.map(securityGroupView)
  })
  return { body: { security_group: answer.one, security_groups: answer.several } }
}

/** DELETE /v2.0/security-groups/{security_group_id} */
export const deleteSecurityGroup: Handler<operations['deleteSecurityGroup']> = async (call) => {
  const { app, context, params, raw } = call
  await remove(app.networks, context, params.security_group_id, wantedRevision(raw))
  return {}
}

/** GET /v2.0/security-groups */
export const listSecurityGroups: Handler<operations['listSecurityGroups']> = async (call) => {
  const { app, context, raw } = call
  const page = await listPage(app.networks, context, queryPairs(raw.search))
  return { body: pageBody(call, 'security_groups', page, securityGroupView) }
}

/** GET /v2.0/security-groups/{security_group_id} */
export const showSecurityGroup: Handler<operations['showSecurityGroup']> = async (call) => {
  const { app, context, params, query } = call
  const found = await ownSecurityGroup(app.networks, context, params.security_group_id)
  return { body: { security_group: pick(securityGroupView(found), query.fields) } }
}

/** PUT /v2.0/security-groups/{security_group_id} */
export const updateSecurityGroup: Handler<operations['updateSecurityGroup']> = async (call) => {
  const { app, context, params, body, raw } = call
  const changed = await update(
    app.networks,
    context,
    params.security_group_id,
    body.security_group,
    wantedRevision(raw),
  )
  return { body: { security_group: securityGroupView(changed) } }
}

function securityGroupView(group: SecurityGroup) {
  return {
    ...describedView(group),
    stateful: true,
    shared: false,
    security_group_rules: group.rules.map(ruleView),
  }
}
