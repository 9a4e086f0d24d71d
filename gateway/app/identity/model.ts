import type { DomainRef, NamedRef, RoleRef } from './token-view.ts'

/** Properties clients added beyond the known ones, by name. */
export type Extra = Readonly<Record<string, unknown>>

export interface Domain extends DomainRef {
  readonly description: string
  readonly enabled: boolean
  readonly immutable: boolean
}

export interface Project extends NamedRef {
  readonly description: string
  readonly enabled: boolean
  /** Enabled, and its domain, too. */
  readonly isActive: boolean
  /** Null right below the domain. */
  readonly parentId: string | null
  /** Ids of the projects above, the topmost first. */
  readonly ancestors: readonly string[]
  readonly immutable: boolean
  readonly tags: readonly string[]
  readonly extra: Extra
}

export interface UserOptions {
  readonly ignore_lockout_failure_attempts?: boolean
  readonly lock_password?: boolean
  readonly ignore_change_password_upon_first_use?: boolean
  readonly ignore_password_expiry?: boolean
  readonly ignore_user_inactivity?: boolean
  /** Absent: true. */
  readonly multi_factor_auth_enabled?: boolean
  /** Sets of methods, one of which a login must have used. */
  readonly multi_factor_auth_rules?: readonly (readonly string[])[]
}

/** A user as others may see it. */
export interface User extends NamedRef {
  readonly defaultProjectId: string | null
  readonly email: string | null
  readonly description: string
  readonly enabled: boolean
  /** Enabled, and its domain, too. */
  readonly isActive: boolean
  readonly options: UserOptions
  readonly extra: Extra
}

export interface Group extends NamedRef {
  readonly description: string
  readonly extra: Extra
}

export interface Role extends RoleRef {
  /** '' for a role of the whole cloud. */
  readonly domainId: string
  readonly description: string
  readonly immutable: boolean
  readonly extra: Extra
}

/** One user, or each member of one group, has one role on one target. */
export interface RoleAssignment {
  readonly actorType: 'user' | 'group'
  readonly actorId: string
  readonly targetType: 'project' | 'domain' | 'system'
  /** '' for the system. */
  readonly targetId: string
  readonly roleId: string
  /** True: it holds in the projects below the target, and not on the target. */
  readonly inherited: boolean
}

/** How a name is compared; `i…` ignores case. */
export interface NameMatch {
  readonly how:
    | 'equals'
    | 'contains'
    | 'icontains'
    | 'startswith'
    | 'istartswith'
    | 'endswith'
    | 'iendswith'
  readonly text: string
}

/** Which entries of a list: those that fit everything given. */
export interface ListFilter {
  readonly names?: readonly NameMatch[] | undefined
  readonly domainId?: string | undefined
  readonly enabled?: boolean | undefined
  readonly ids?: readonly string[] | undefined
  /** Only what comes after this id. */
  readonly marker?: string | undefined
}
