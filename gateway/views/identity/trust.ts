import type { Trust as TrustBody } from '#openapi/identity.gen.ts'
import type { Trust } from '../../app/identity/trust.ts'
import type { FullTrust } from '../../app/identity/trusts.ts'
import type { Links } from '../../http/links.ts'
import { keystoneTime } from './keystone-time.ts'
import { roleView } from './role.ts'

/** As lists show it: without its roles. */
export function trustView(trust: Trust, links: Links): TrustBody {
  return {
    id: trust.id,
    trustor_user_id: trust.trustorUserId,
    trustee_user_id: trust.trusteeUserId,
    project_id: trust.projectId,
    impersonation: trust.impersonation,
    expires_at: trust.expiresAt === null ? null : keystoneTime(trust.expiresAt),
    remaining_uses: trust.remainingUses,
    redelegation_count: trust.redelegationCount,
    redelegated_trust_id: trust.redelegatedTrustId,
    deleted_at: null,
    links: { self: links.to(`/identity/v3/OS-TRUST/trusts/${trust.id}`) },
  }
}

export function fullTrustView(trust: FullTrust, links: Links): TrustBody {
  const self = links.to(`/identity/v3/OS-TRUST/trusts/${trust.id}/roles`)
  return {
    ...trustView(trust, links),
    roles: trust.roles.map((role) => roleView(role, links)),
    roles_links: { self, previous: null, next: null },
  }
}
