import type { operations } from '#openapi/compute.gen.ts'
import { createProxiedRule } from '../../../app/networks/create-proxied-rule.ts'
import type { Handler } from '../../../http/operation.ts'
import { proxiedRuleView } from '../../../views/proxied-security-group.ts'

/** POST /os-security-group-rules */
export const createProxiedSecurityGroupRule: Handler<
  operations['createProxiedSecurityGroupRule']
> = async (call) => {
  const { app, context, body } = call
  const asked = body.security_group_rule
  const { rule, remotes } = await createProxiedRule(app.networks, context, {
    groupId: asked.parent_group_id,
    remoteGroupId: asked.group_id ?? null,
    cidr: asked.cidr ?? null,
    protocol: asked.ip_protocol ?? null,
    from: asked.from_port ?? null,
    to: asked.to_port ?? null,
  })
  return { body: { security_group_rule: proxiedRuleView(rule, remotes) } }
}
