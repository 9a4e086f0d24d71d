import type { operations } from '#openapi/identity.gen.ts'
import { createCredential } from '../../../app/identity/application-credentials.ts'
import { parseKeystoneTime } from '../../../app/identity/parse-keystone-time.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { applicationCredentialView } from '../../../views/identity/application-credential.ts'

type Op = operations['createApplicationCredential']

/** POST /v3/users/{user_id}/application_credentials */
export async function createApplicationCredential(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, body, links } = call
  const { name, description, secret, expires_at, unrestricted, roles, access_rules } =
    body.application_credential
  const made = await createCredential(app.identity, context, params.user_id, {
    name,
    description: description ?? null,
    secret: secret ?? null,
    expiresAt: expires_at == null ? null : parseKeystoneTime(expires_at, 'expires_at'),
    unrestricted: unrestricted ?? false,
    roles: roles ?? undefined,
    accessRules: access_rules ?? undefined,
  })
  const view = applicationCredentialView(made.credential, links)
  return { body: { application_credential: { ...view, secret: made.secret } } }
}
