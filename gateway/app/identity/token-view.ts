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

/** The scope of a token. `id` is '' if the type needs none. */
export interface Scope {
  readonly type: ScopeType
  readonly id: string
}

/** The method of a token that was got with the signature of an access key. */
export const EC2_METHOD = 'ec2credential'

/** A token as it is stored: what was decided when it was issued. */
export interface TokenRecord {
  readonly id: string
  readonly auditId: string
  readonly auditChainId: string
  readonly userId: string
  readonly scope: Scope
  readonly applicationCredentialId: string | null
  /** The trust by which its holder has it. */
  readonly trustId: string | null
  readonly methods: readonly string[]
  readonly issuedAt: Date
  readonly expiresAt: Date
}

/** A valid token with its present meaning: names, roles, scope. */
export interface TokenView {
  readonly record: TokenRecord
  readonly user: NamedRef
  readonly project: NamedRef | null
  readonly domain: DomainRef | null
  readonly roles: readonly RoleRef[]
  readonly applicationCredential: ApplicationCredentialRef | null
  readonly trust: TrustRef | null
  readonly caller: Caller
}

/** The trustor and the trustee. */
export interface TrustRef {
  readonly id: string
  readonly trustorUserId: string
  readonly trusteeUserId: string
  /** True: its tokens are in the name of the trustor. */
  readonly impersonation: boolean
}

export interface ApplicationCredentialRef {
  readonly id: string
  readonly name: string
  readonly unrestricted: boolean
  /** The only requests it may make; null: any. */
  readonly accessRules: readonly AccessRule[] | null
}
