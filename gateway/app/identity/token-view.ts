import type { Caller } from '../request-context.ts'
import type { AccessRule } from './access-rule.ts'

export interface DomainRef {
  readonly id: string
  readonly name: string
}

/** A user or project with the domain its name is unique in. */
export interface NamedRef extends DomainRef {
  readonly domain: DomainRef
}

export interface RoleRef {
  readonly id: string
  readonly name: string
}

export type ScopeType = 'none' | 'project' | 'domain' | 'system'

/** What a token is for. `id` is '' where the type says all. */
export interface Scope {
  readonly type: ScopeType
  readonly id: string
}

/** A token as it is stored: what was decided when it was issued. */
export interface TokenRecord {
  readonly id: string
  readonly auditId: string
  readonly auditChainId: string
  readonly userId: string
  readonly scope: Scope
  readonly applicationCredentialId: string | null
  readonly methods: readonly string[]
  readonly issuedAt: Date
  readonly expiresAt: Date
}

/** A valid token with everything it stands for now: names, roles, scope. */
export interface TokenView {
  readonly record: TokenRecord
  readonly user: NamedRef
  readonly project: NamedRef | null
  readonly domain: DomainRef | null
  readonly roles: readonly RoleRef[]
  readonly applicationCredential: ApplicationCredentialRef | null
  readonly caller: Caller
}

export interface ApplicationCredentialRef {
  readonly id: string
  readonly name: string
  readonly unrestricted: boolean
  /** The only requests it may make; null: any. */
  readonly accessRules: readonly AccessRule[] | null
}
