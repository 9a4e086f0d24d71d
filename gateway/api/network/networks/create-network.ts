import type { operations } from '#openapi/network.gen.ts'
import { createNetworks } from '../../../app/networks/create-networks.ts'
import type { Handler } from '../../../http/operation.ts'
import { networkView } from '../../../views/network/network.ts'
import { oneOrSeveral } from '../one-or-several.ts'

/** POST /v2.0/networks */
export const createNetwork: Handler<operations['createNetwork']> = async ({
  app,
  context,
  body,
}) => {
  const { network: one, networks: several } = body
  const answer = await oneOrSeveral({ one, several }, async (drafts) => {
    const made = await createNetworks(app.networks, context, drafts)
    return made.map((item) => networkView(item, context))
  })
  return { body: { network: answer.one, networks: answer.several } }
}
