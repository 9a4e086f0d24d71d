import type { operations } from '#openapi/compute.gen.ts'
import { addServerGroup } from '../../../../app/servers/change-server-groups.ts'
import type { Handler } from '../../../../http/operation.ts'

export const addServerSecurityGroup: Handler<operations['addServerSecurityGroup']> = async (
  call,
) => {
  const { app, context, params, body } = call
  await addServerGroup(app.networks, context, params.server_id, body.addSecurityGroup.name)
  return {}
}
