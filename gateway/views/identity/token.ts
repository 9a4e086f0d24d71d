import type { Token } from '#openapi/identity.gen.ts'
import type { CatalogService } from '../../app/identity/token-catalog.ts'
import type { TokenView } from '../../app/identity/token-view.ts'
import { accessRuleView } from './access-rule.ts'
import { catalogView } from './catalog.ts'
import { keystoneTime } from './keystone-time.ts'
import { namedReference, reference } from './references.ts'

/** A token as Keystone shows it; without a scope there are neither roles nor a catalog. */
export function tokenBody(view: TokenView, catalog: readonly CatalogService[] | undefined): Token {
  const { record, user, project, domain, roles, applicationCredential, trust } = view
  const isScoped = record.scope.type !== 'none'
  const isOriginal = record.auditId === record.auditChainId
  return {
    token: {
      methods: record.methods,
      user: { ...namedReference(user), password_expires_at: null },
      audit_ids: isOriginal ? [record.auditId] : [record.auditId, record.auditChainId],
      expires_at: keystoneTime(record.expiresAt),
      issued_at: keystoneTime(record.issuedAt),
      ...(project !== null && { project: namedReference(project), is_domain: false }),
      ...(domain !== null && { domain: reference(domain) }),
      ...(record.scope.type === 'system' && { system: { all: true } }),
      ...(isScoped && { roles: roles.map(reference) }),
      ...(isScoped && catalog !== undefined && { catalog: catalogView(catalog) }),
      ...(trust !== null && {
        'OS-TRUST:trust': {
          id: trust.id,
          trustor_user: { id: trust.trustorUserId },
          trustee_user: { id: trust.trusteeUserId },
          impersonation: trust.impersonation,
        },
      }),
      ...(applicationCredential !== null && {
        application_credential: {
          ...reference(applicationCredential),
          restricted: !applicationCredential.unrestricted,
          ...(applicationCredential.accessRules !== null && {
            access_rules: applicationCredential.accessRules.map(accessRuleView),
          }),
        },
      }),
    },
  }
}
