import type { operations } from '#openapi/network.gen.ts'
import { createSubnets } from '../../../app/networks/create-subnets.ts'
import type { Handler } from '../../../http/operation.ts'
import { subnetView } from '../../../views/network/subnet.ts'
import { oneOrSeveral } from '../one-or-several.ts'

/** POST /v2.0/subnets */
export const createSubnet: Handler<operations['createSubnet']> = async ({ app, context, body }) => {
  const { subnet: one, subnets: several } = body
  const answer = await oneOrSeveral({ one, several }, async (drafts) => {
    const made = await createSubnets(app.networks, context, drafts)
    return made.map((item) => subnetView(item))
  })
  return { body: { subnet: answer.one, subnets: answer.several } }
}
