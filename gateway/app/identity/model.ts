import type { DomainRef, NamedRef, RoleRef } from './token-view.ts'

export interface Domain extends DomainRef {
  readonly description: string
  readonly enabled: boolean
}

export interface Project extends NamedRef {
  readonly description: string
  readonly enabled: boolean
}

/** A user as others may see it. */
export interface User extends NamedRef {
  readonly defaultProjectId: string | null
  readonly email: string | null
  readonly description: string
  readonly enabled: boolean
}

export interface Role extends RoleRef {
  readonly description: string
}

/** One user has one role on one target. */
export interface RoleAssignment {
  readonly userId: string
  readonly targetType: 'project' | 'domain' | 'system'
  readonly targetId: string
  readonly roleId: string
}

/** How a named thing is looked up: names are unique in their domain only. */
export interface NameFilter {
  readonly name?: string | undefined
  readonly domainId?: string | undefined
  readonly enabled?: boolean | undefined
}
