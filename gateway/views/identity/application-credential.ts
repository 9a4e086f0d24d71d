import type { ApplicationCredential } from '#openapi/identity.gen.ts'
import type { CredentialView } from '../../app/identity/application-credentials.ts'
import type { Links } from '../../http/links.ts'
import { accessRuleView } from './access-rule.ts'
import { zonelessTime } from './keystone-time.ts'
import { reference } from './references.ts'

/** Without the secret, which cannot be shown again. */
export function applicationCredentialView(
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
