import type { operations } from '#openapi/identity.gen.ts'
import { removeCredential } from '../../../app/identity/application-credentials.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['deleteApplicationCredential']

/** DELETE /v3/users/{user_id}/application_credentials/{application_credential_id} */
export async function deleteApplicationCredential({
  app,
  context,
  params,
}: Call<Op>): Promise<Answer<Op>> {
  const { user_id, application_credential_id } = params
  await removeCredential(app.identity, context, user_id, application_credential_id)
  return {}
}
