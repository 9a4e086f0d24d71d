/** A domain by id or by name. */
export interface DomainChoice {
  readonly id?: string
  readonly name?: string
}

/** A user or project by id, or by name within a domain. */
export interface NamedChoice {
  readonly id?: string
  readonly name?: string
  readonly domain?: DomainChoice
}

/** The body of a login (`auth` of `POST /v3/auth/tokens`). */
export interface LoginRequest {
  readonly identity: {
    readonly methods: readonly string[]
    readonly password?: { readonly user: NamedChoice & { readonly password: string } }
    readonly token?: { readonly id: string }
    readonly application_credential?: {
      readonly id?: string
      readonly name?: string
      readonly user?: NamedChoice
      readonly secret: string
    }
  }
  readonly scope?: ScopeRequest
}

export type ScopeRequest =
  | 'unscoped'
  | {
      readonly project?: NamedChoice
      readonly domain?: DomainChoice
      readonly system?: { readonly all: true }
      readonly unscoped?: object
      readonly 'OS-TRUST:trust'?: { readonly id: string }
    }
