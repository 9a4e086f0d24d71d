import type { WorkContext } from '#common/context.ts'
import type { ProjectId, UserId } from '#common/ids.ts'
import type { AccessRule } from './identity/access-rule.ts'

/** Who asks: what a valid token says of its bearer. Shared by every request made with that token. */
export interface Caller {
  readonly userId: UserId
  readonly userName: string
  readonly userDomainId: string
  readonly userDomainName: string
  /** Null when the token is scoped to a domain, to the system, or to nothing. */
  readonly projectId: ProjectId | null
  readonly projectName: string | null
  readonly projectDomainId: string | null
  readonly projectDomainName: string | null
  /** The domain the token is scoped to, which is not the user's own. */
  readonly domainId: string | null
  readonly domainName: string | null
  readonly isSystemScoped: boolean
  /** Names of the roles, those implied by others included. */
  readonly roles: ReadonlySet<string>
  /** True with the role `admin` in a project or on the system; in a domain it makes a manager of that domain only. */
  readonly isAdmin: boolean
  /** False for a token that was lent (by a restricted application credential, a trust, an access key): it makes and deletes no credentials. */
  readonly mayDelegate: boolean
  /** The application credential it was got with. */
  readonly applicationCredentialId: string | null
  /** The trust it was lent by. */
  readonly trustId: string | null
  /** The only requests the token may make, by its application credential; null: any. */
  readonly accessRules: readonly AccessRule[] | null
  /** True where an identity service elsewhere vouches for it, which alone knows projects. */
  readonly isExternal: boolean
  /** SHA-256 of the token, hexadecimal; the token itself is never kept. */
  readonly tokenId: string
}

interface InDomain {
  readonly id: string
  readonly name: string
  readonly domain: { readonly id: string; readonly name: string }
}

/** Who and what a token is for. At most one of `project`, `domain` and `isSystemScoped` is set. */
export interface TokenScope {
  readonly user: InDomain
  readonly project: InDomain | null
  readonly domain: { readonly id: string; readonly name: string } | null
  readonly isSystemScoped: boolean
  readonly roles: readonly { readonly name: string }[]
}

/** The part of a caller that follows from the user, the scope and the roles of the token. */
export function callerOfScope({ user, project, domain, isSystemScoped, roles }: TokenScope) {
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
    isSystemScoped,
    roles: names,
    isAdmin: names.has('admin') && domain === null,
  } satisfies Partial<Caller>
}

/** One request: the work it starts, who asks for it, and the microversion it is in. */
export interface RequestContext extends WorkContext, Caller {
  /** `major.minor`; '' on an API without microversions. */
  readonly microversion: string
}

/** Who is on record as having changed something, and with a token of which project; one of no project counts as its owner's. */
export function requesterOf(
  { userId, projectId }: Pick<Caller, 'userId' | 'projectId'>,
  owner: { readonly projectId: string },
): { readonly userId: string; readonly projectId: string } {
  return { userId, projectId: projectId ?? owner.projectId }
}

/** The caller of an operation that needs no token. */
export const ANONYMOUS: Caller = {
  userId: '' as UserId,
  userName: '',
  userDomainId: '',
  userDomainName: '',
  projectId: null,
  projectName: null,
  projectDomainId: null,
  projectDomainName: null,
  domainId: null,
  domainName: null,
  isSystemScoped: false,
  roles: new Set(),
  isAdmin: false,
  mayDelegate: false,
  applicationCredentialId: null,
  trustId: null,
  accessRules: null,
  isExternal: false,
  tokenId: '',
}
