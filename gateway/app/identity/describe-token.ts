import type { Executor } from '#common/db/database.ts'
import { listAccessRules } from '../../db/identity/access-rules.ts'
import { findApplicationCredential } from '../../db/identity/application-credentials.ts'
import { assignedRoleIds } from '../../db/identity/assigned-roles.ts'
import { findDomain } from '../../db/identity/domains.ts'
import { findProject } from '../../db/identity/projects.ts'
import { roleModel } from '../../db/identity/roles.ts'
import { trustChain } from '../../db/identity/trusts.ts'
import { findUser } from '../../db/identity/users.ts'
import { type Caller, callerOfScope } from '../request-context.ts'
import { type AccessRule, rulesOf } from './access-rule.ts'
import { effectiveRoles, type RoleModel, reachedRoles } from './effective-assignments.ts'
import type { ApplicationCredential, User } from './model.ts'
import {
  type ApplicationCredentialRef,
  type DomainRef,
  EC2_METHOD,
  type NamedRef,
  type RoleRef,
  type TokenRecord,
  type TokenView,
  type TrustRef,
} from './token-view.ts'
import type { Trust } from './trust.ts'

/**
 * The present meaning of a token. Undefined when its user, scope, application credential or trust is gone, disabled or
 * expired, or when no role is left in the scope: such a token is not valid, even if it was when it was issued.
 */
export async function describeToken(
  db: Executor,
  record: TokenRecord,
  now: Date,
): Promise<TokenView | undefined> {
  const { scope, userId, applicationCredentialId, trustId } = record
  const lent = trustId === null ? null : await delegatedRights(db, trustId)
  if (lent === undefined) return undefined
  const [user, project, domain, assigned, model, credential] = await Promise.all([
    findUser(db, userId),
    scope.type === 'project' ? findProject(db, scope.id) : null,
    scope.type === 'domain' ? findDomain(db, scope.id) : null,
    scope.type === 'none' ? [] : assignedRoleIds(db, lent?.firstTrustorId ?? userId, scope),
    roleModel(db),
    applicationCredentialId === null
      ? null
      : findApplicationCredential(db, applicationCredentialId),
  ])
  if (user === undefined || !user.isActive) return undefined
  if (project === undefined || project?.isActive === false) return undefined
  if (domain === undefined || domain?.enabled === false) return undefined
  if (credential === undefined || isExpired(credential, now)) return undefined

  const granted = grantedBy(model, assigned, credential?.roleIds, lent?.trust.roleIds)
  if (scope.type !== 'none' && granted.length === 0) return undefined
  const applicationCredential =
    credential === null ? null : { ...credential, accessRules: await accessRulesOf(db, credential) }
  const trust = lent?.trust ?? null
  const holder = lent?.impersonated ?? user
  const parts = { user: holder, project, domain, roles: granted, applicationCredential, trust }
  return { record, ...parts, caller: callerOf(record, parts) }
}

/** A rule that is gone allows nothing any more; a credential without any of its rules can do nothing. */
async function accessRulesOf(
  db: Executor,
  { userId, accessRuleIds: ids }: ApplicationCredential,
): Promise<readonly AccessRule[] | null> {
  return ids === null ? null : rulesOf(ids, await listAccessRules(db, userId, { ids }, ids.length))
}

function isExpired(credential: ApplicationCredential | null, now: Date): boolean {
  return credential !== null && credential.expiresAt !== null && credential.expiresAt <= now
}

/** An application credential never gives more than its user has; a trust gives what it lends, and nothing once its trustor lacks a part of that. */
function grantedBy(
  model: RoleModel,
  assigned: readonly string[],
  ofCredential: readonly string[] | undefined,
  lent: readonly string[] | undefined,
): readonly RoleRef[] {
  const owned = reachedRoles(model, assigned)
  if (lent !== undefined)
    return lent.every((id) => owned.has(id)) ? effectiveRoles(model, lent) : []
  const all = effectiveRoles(model, assigned)
  if (ofCredential === undefined) return all
  const given = reachedRoles(model, ofCredential)
  return all.filter(({ id }) => given.has(id))
}

interface DelegatedRights {
  readonly trust: Trust
  /** Whose name a token by it is in; undefined: its own holder's. */
  readonly impersonated: User | undefined
  /** Whose roles are lent in the end. */
  readonly firstTrustorId: string
}

/** The rights that a trust delegates; undefined when it is gone, or a user in its chain is gone or disabled. */
async function delegatedRights(db: Executor, id: string): Promise<DelegatedRights | undefined> {
  const chain = await trustChain(db, id)
  const [trust, first] = [chain[0], chain.at(-1)]
  if (trust === undefined || first === undefined) return undefined
  const ids = new Set(chain.flatMap((it) => [it.trustorUserId, it.trusteeUserId]))
  const users = await Promise.all([...ids].map((userId) => findUser(db, userId)))
  if (!users.every((user) => user?.isActive)) return undefined
  const trustor = users.find((user) => user?.id === trust.trustorUserId)
  const impersonated = trust.impersonation ? trustor : undefined
  return { trust, impersonated, firstTrustorId: first.trustorUserId }
}

interface Parts {
  readonly user: NamedRef
  readonly project: NamedRef | null
  readonly domain: DomainRef | null
  readonly roles: readonly RoleRef[]
  readonly applicationCredential: ApplicationCredentialRef | null
  readonly trust: TrustRef | null
}

function callerOf(record: TokenRecord, parts: Parts): Caller {
  const { applicationCredential, trust } = parts
  const isByAccessKey = record.methods.includes(EC2_METHOD)
  return {
    ...callerOfScope({ ...parts, isSystemScoped: record.scope.type === 'system' }),
    mayDelegate: !isByAccessKey && trust === null && (applicationCredential?.unrestricted ?? true),
    applicationCredentialId: applicationCredential?.id ?? null,
    trustId: trust?.id ?? null,
    accessRules: applicationCredential?.accessRules ?? null,
    isExternal: false,
    tokenId: record.id,
  }
}
