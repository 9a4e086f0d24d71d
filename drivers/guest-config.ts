/** The content for a config drive. */
export interface GuestConfig {
  readonly metadata: Readonly<Record<string, string>>
  readonly keypair: KeypairSpec | null
  /** Base64. */
  readonly userData: string | null
  readonly adminPassword: string | null
  /** Of the config drive; absent: none. */
  readonly files?: readonly { readonly path: string; readonly contents: string }[]
}

export interface KeypairSpec {
  readonly name: string
  /** `ssh` or `x509`. */
  readonly type: string
  readonly publicKey: string
}
