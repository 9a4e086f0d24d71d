import type { operations } from '#openapi/identity.gen.ts'
import { subjectToken } from '../../../app/identity/subject-token.ts'
import { tokenCatalog } from '../../../app/identity/token-catalog.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { tokenBody } from '../../../views/identity/token.ts'

type Op = operations['showToken']

/** GET /v3/auth/tokens, and HEAD */
export async function showToken(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, query, links, raw } = call
  const token = raw.header('x-subject-token')
  const view = await subjectToken(app.identity, context, token)
  const catalog =
    query.nocatalog === undefined
      ? await tokenCatalog(app.identity, links.root, view.caller)
      : undefined
  return { body: tokenBody(view, catalog), headers: { 'X-Subject-Token': token ?? '' } }
}
