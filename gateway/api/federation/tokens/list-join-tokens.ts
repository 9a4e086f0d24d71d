import type { operations } from '#openapi/federation.gen.ts'
import { listJoinTokens as list } from '../../../app/federation/join-tokens.ts'
import { joinUrl } from '../../../http/join-url.ts'
import type { Handler } from '../../../http/operation.ts'
import { joinTokenView } from '../../../views/federation/join-token.ts'

/** GET /v1/tokens */
export const listJoinTokens: Handler<operations['listJoinTokens']> = async ({ app, links }) => {
  const tokens = await list(app.db)
  return {
    body: { tokens: tokens.map((token) => joinTokenView(token, joinUrl(app.config, links))) },
  }
}
