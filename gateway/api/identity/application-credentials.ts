import type { ApplicationCredential, operations } from '#openapi/identity.gen.ts'
import {
  type CredentialView,
  createCredential,
  credentialsOf,
  oneCredential,
  removeCredential,
} from '../../app/identity/application-credentials.ts'
import { parseKeystoneTime } from '../../app/identity/model.ts'
import type { Links } from '../../http/links.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { accessRuleView } from '../../views/identity/access-rule.ts'
import { zonelessTime } from '../../views/identity/keystone-time.ts'
import { reference } from '../../views/identity/references.ts'
import { listBody } from './list-body.ts'

/** POST /v3/users/{user_id}/application_credentials */
export async function createApplicationCredential(
  call: Call<operations['createApplicationCredential']>,
): Promise<Answer<operations['createApplicationCredential']>> {
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

/** DELETE /v3/users/{user_id}/application_credentials/{application_credential_id} */
export async function deleteApplicationCredential({
  app,
  context,
  params,
}: Call<operations['deleteApplicationCredential']>): Promise<
  Answer<operations['deleteApplicationCredential']>
> {
  const { user_id, application_credential_id } = params
  await removeCredential(app.identity, context, user_id, application_credential_id)
  return {}
}

/** GET /v3/users/{user_id}/application_credentials */
export async function listApplicationCredentials(
  call: Call<operations['listApplicationCredentials']>,
): Promise<Answer<operations['listApplicationCredentials']>> {
  const { app, context, params, query, links } = call
  const found = await credentialsOf(app.identity, context, params.user_id, query)
  return {
    body: listBody(call, 'application_credentials', found, (it) =>
      applicationCredentialView(it, links),
    ),
  }
}

/** GET /v3/users/{user_id}/application_credentials/{application_credential_id} */
export async function showApplicationCredential(
  call: Call<operations['showApplicationCredential']>,
): Promise<Answer<operations['showApplicationCredential']>> {
  const { app, context, params, links } = call
  const { user_id, application_credential_id } = params
  const found = await oneCredential(app.identity, context, user_id, application_credential_id)
  return { body: { application_credential: applicationCredentialView(found, links) } }
}

/** Without the secret, which cannot be shown again. */
function applicationCredentialView(
  credential: CredentialView,
  links: Links,
): ApplicationCredential {
  const { id, userId, projectId, name, description, roles, expiresAt, unrestricted } = credential
  const { accessRules } = credential
  return {
    id,
    name,
    description,
    project_id: projectId,
    user_id: userId,
    roles: roles.map(reference),
    expires_at: expiresAt === null ? null : zonelessTime(expiresAt),
    unrestricted,
    system: null,
    ...(accessRules !== null && { access_rules: accessRules.map(accessRuleView) }),
    links: { self: links.to(`/identity/v3/users/${userId}/application_credentials/${id}`) },
  }
}
