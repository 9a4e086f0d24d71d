import type { operations } from '#openapi/compute.gen.ts'
import { createSecurityGroup } from '../../../app/networks/change-security-group.ts'
import { asComputeSays, withRemotes } from '../../../app/networks/proxied-groups.ts'
import type { Handler } from '../../../http/operation.ts'
import { proxiedGroupView } from '../../../views/proxied-security-group.ts'

/** POST /os-security-groups */
export const createProxiedSecurityGroup: Handler<operations['createProxiedSecurityGroup']> = async (
  call,
) => {
  const { app, context, body } = call
  const group = await asComputeSays(createSecurityGroup(app.networks, context, body.security_group))
  const { remotes } = await withRemotes(app.db, [group])
  return { body: { security_group: proxiedGroupView(group, remotes) } }
}
