import type { operations, Trust as TrustBody } from '#openapi/identity.gen.ts'
import { unpaged } from '../../app/identity/listed.ts'
import { parseKeystoneTime } from '../../app/identity/model.ts'
import type { Trust } from '../../app/identity/trust.ts'
import {
  createTrust,
  type FullTrust,
  oneRoleOfTrust,
  oneTrust,
  removeTrust,
  trustsSeenBy,
} from '../../app/identity/trusts.ts'
import type { Links } from '../../http/links.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { keystoneTime } from '../../views/identity/keystone-time.ts'
import { roleView } from '../../views/identity/role.ts'
import { listBody } from './list-body.ts'

type List = operations['listTrusts']
type Create = operations['createTrust']
type Show = operations['showTrust']
type Delete = operations['deleteTrust']
type Roles = operations['listTrustRoles']
type Role = operations['showTrustRole']

async function list(call: Call<List>): Promise<Answer<List>> {
  const { app, context, query, links } = call
  const { trustor_user_id: trustorUserId, trustee_user_id: trusteeUserId, ...page } = query
  const asked = { trustorUserId, trusteeUserId, ...page }
  const found = await trustsSeenBy(app.identity, context, asked)
  return { body: listBody(call, 'trusts', found, (it) => trustView(it, links)) }
}

async function create({ app, context, body, links }: Call<Create>): Promise<Answer<Create>> {
  const { trust } = body
  const { expires_at: end } = trust
  const made = await createTrust(app.identity, context, {
    trustorUserId: trust.trustor_user_id,
    trusteeUserId: trust.trustee_user_id,
    impersonation: trust.impersonation,
    projectId: trust.project_id ?? null,
    roles: trust.roles ?? [],
    expiresAt: end == null ? null : parseKeystoneTime(end, 'expires_at'),
    remainingUses: trust.remaining_uses ?? null,
    allowRedelegation: trust.allow_redelegation ?? false,
    redelegationCount: trust.redelegation_count ?? undefined,
  })
  return { body: { trust: fullTrustView(made, links) } }
}

async function show({ app, context, params, links }: Call<Show>): Promise<Answer<Show>> {
  const found = await oneTrust(app.identity, context, params.trust_id)
  return { body: { trust: fullTrustView(found, links) } }
}

async function remove({ app, context, params }: Call<Delete>): Promise<Answer<Delete>> {
  await removeTrust(app.identity, context, params.trust_id)
  return {}
}

async function listRoles(call: Call<Roles>): Promise<Answer<Roles>> {
  const { app, context, params, links } = call
  const rule = 'identity:list_roles_for_trust:other'
  const { roles } = await oneTrust(app.identity, context, params.trust_id, rule)
  return { body: listBody(call, 'roles', unpaged(roles), (it) => roleView(it, links)) }
}

async function showRole({ app, context, params, links }: Call<Role>): Promise<Answer<Role>> {
  const role = await oneRoleOfTrust(app.identity, context, params.trust_id, params.role_id)
  return { body: { role: roleView(role, links) } }
}

/** What openapi/identity/trusts.yaml describes. */
export const trustHandlers = {
  listTrusts: list,
  createTrust: create,
  showTrust: show,
  deleteTrust: remove,
  listTrustRoles: listRoles,
  showTrustRole: showRole,
}

/** As lists show it: without its roles. */
function trustView(trust: Trust, links: Links): TrustBody {
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

function fullTrustView(trust: FullTrust, links: Links): TrustBody {
  const self = links.to(`/identity/v3/OS-TRUST/trusts/${trust.id}/roles`)
  return {
    ...trustView(trust, links),
    roles: trust.roles.map((role) => roleView(role, links)),
    roles_links: { self, previous: null, next: null },
  }
}
