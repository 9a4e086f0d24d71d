import type { operations } from '#openapi/identity.gen.ts'
import { revokeSubjectToken } from '../../../app/identity/subject-token.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['revokeToken']

/** DELETE /v3/auth/tokens */
export async function revokeToken({ app, context, raw }: Call<Op>): Promise<Answer<Op>> {
  await revokeSubjectToken(app.identity, context, raw.header('x-subject-token'))
  return {}
}
