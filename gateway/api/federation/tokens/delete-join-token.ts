import type { operations } from '#openapi/federation.gen.ts'
import { deleteJoinToken as remove } from '../../../app/federation/join-tokens.ts'
import type { Handler } from '../../../http/operation.ts'

/** DELETE /v1/tokens/{token} */
export const deleteJoinToken: Handler<operations['deleteJoinToken']> = async ({ app, params }) => {
  await remove(app.db, params.token)
  return {}
}
