import type { operations } from '#openapi/network.gen.ts'
import { createSecurityGroups } from '../../../app/networks/change-security-group.ts'
import type { Handler } from '../../../http/operation.ts'
import { securityGroupView } from '../../../views/network/security-group.ts'
import { oneOrSeveral } from '../one-or-several.ts'

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
