import type { Executor } from '#common/db/database.ts'
import type { ProjectId, UserId } from '#common/ids.ts'
import { listAccessRules } from '../../db/identity/access-rules.ts'
import { findApplicationCredential } from '../../db/identity/application-credentials.ts'
import { assignedRoleIds } from '../../db/identity/assigned-roles.ts'
import { findDomain } from '../../db/identity/domains.ts'
import { findProject } from '../../db/identity/projects.ts'
import { roleModel } from '../../db/identity/roles.ts'
import { findUser } from '../../db/identity/users.ts'
import type { Caller } from '../request-context.ts'
import { type AccessRule, rulesOf } from './access-rule.ts'
import type { ApplicationCredential } from './application-credential.ts'
import { effectiveRoles } from './effective-roles.ts'
import type {
  ApplicationCredentialRef,
  DomainRef,
  NamedRef,
  RoleRef,
  TokenRecord,
  TokenView,
} from './token-view.ts'

/**
 * What a token stands for right now. Undefined when its user, scope or application credential is gone, disabled
 * or expired, or the user has no role left in the scope: such a token is not valid, whatever was true at issue.
 */
export async function describeToken(
  db: Executor,
  record: TokenRecord,
  now: Date,
): Promise<TokenView | undefined> {
  const { scope, userId, applicationCredentialId } = record
  const [user, project, domain, assigned, model, credential] = await Promise.all([
    findUser(db, userId),
    scope.type === 'project' ? findProject(db, scope.id) : null,
    scope.type === 'domain' ? findDomain(db, scope.id) : null,
    scope.type === 'none' ? [] : assignedRoleIds(db, userId, scope),
    roleModel(db),
    applicationCredentialId === null
      ? null
      : findApplicationCredential(db, applicationCredentialId),
  ])
  if (user === undefined || !user.isActive) return undefined
  if (project === undefined || project?.isActive === false) return undefined
  if (domain === undefined || domain?.enabled === false) return undefined
  if (credential === undefined || isExpired(credential, now)) return undefined

  const owned = effectiveRoles(model, assigned)
  const granted =
    credential === null ? owned : within(owned, effectiveRoles(model, credential.roleIds))
  if (scope.type !== 'none' && granted.length === 0) return undefined
  const applicationCredential =
    credential === null ? null : { ...credential, accessRules: await accessRulesOf(db, credential) }
  const parts = { user, project, domain, roles: granted, applicationCredential }
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

/** An application credential never gives more than its user has. */
function within(owned: readonly RoleRef[], given: readonly RoleRef[]): readonly RoleRef[] {
  const ids = new Set(given.map(({ id }) => id))
  return owned.filter(({ id }) => ids.has(id))
}

interface Parts {
  readonly user: NamedRef
  readonly project: NamedRef | null
  readonly domain: DomainRef | null
  readonly roles: readonly RoleRef[]
  readonly applicationCredential: ApplicationCredentialRef | null
}

function callerOf(record: TokenRecord, parts: Parts): Caller {
  const { user, project, domain, roles, applicationCredential } = parts
  const names = new Set(roles.map(({ name }) => name))
  return {
    userId: user.id as UserId,
    userName: user.name,
    userDomainId: user.domain.id,
    userDomainName: user.domain.name,
    projectId: (project?.id ?? null) as ProjectId | null,
    projectName: project?.name ?? null,
    projectDomainId: project?.domain.id ?? null,
    projectDomainName: project?.domain.name ?? null,
    domainId: domain?.id ?? null,
    domainName: domain?.name ?? null,
    isSystemScoped: record.scope.type === 'system',
    roles: names,
    isAdmin: names.has('admin') && record.scope.type !== 'domain',
    mayDelegate: applicationCredential?.unrestricted ?? true,
    accessRules: applicationCredential?.accessRules ?? null,
    isExternal: false,
    tokenId: record.id,
  }
}
