import type { operations } from '#openapi/identity.gen.ts'
import { oneCredential } from '../../../app/identity/application-credentials.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { applicationCredentialView } from '../../../views/identity/application-credential.ts'

type Op = operations['showApplicationCredential']

/** GET /v3/users/{user_id}/application_credentials/{application_credential_id} */
export async function showApplicationCredential(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, links } = call
  const { user_id, application_credential_id } = params
  const found = await oneCredential(app.identity, context, user_id, application_credential_id)
  return { body: { application_credential: applicationCredentialView(found, links) } }
}
