import type { operations } from '#openapi/identity.gen.ts'
import { credentialsOf } from '../../../app/identity/application-credentials.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { applicationCredentialView } from '../../../views/identity/application-credential.ts'
import { listBody } from '../list-body.ts'

type Op = operations['listApplicationCredentials']

/** GET /v3/users/{user_id}/application_credentials */
export async function listApplicationCredentials(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, query, links } = call
  const found = await credentialsOf(app.identity, context, params.user_id, query)
  return {
    body: listBody(call, 'application_credentials', found, (it) =>
      applicationCredentialView(it, links),
    ),
  }
}
