import type { operations } from '#openapi/identity.gen.ts'
import { logIn } from '../../../app/identity/log-in.ts'
import type { LoginRequest } from '../../../app/identity/login-request.ts'
import { tokenCatalog } from '../../../app/identity/token-catalog.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { tokenBody } from '../../../views/identity/token.ts'

type Op = operations['createToken']

/** POST /v3/auth/tokens */
export async function createToken(call: Call<Op>): Promise<Answer<Op>> {
  const { app, body, query, links, raw } = call
  const { token, view } = await logIn(app.identity, body.auth as LoginRequest, raw.peer())
  const catalog =
    query.nocatalog === undefined
      ? await tokenCatalog(app.identity, links.root, view.caller)
      : undefined
  return { body: tokenBody(view, catalog), headers: { 'X-Subject-Token': token } }
}
