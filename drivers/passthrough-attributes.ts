/** Attributes that a user set on a server and that have no effect in Weir; another cloud stores them. */
export interface PassthroughAttributes {
  readonly description: string | null
  readonly tags: readonly string[]
  readonly diskConfig: 'AUTO' | 'MANUAL'
  readonly accessIPv4: string | null
  readonly accessIPv6: string | null
  /** Scheduler hints without a meaning here. */
  readonly hints: Readonly<Record<string, readonly string[]>>
  /** Ids of what a signature of its image may be checked with; absent: none are named. */
  readonly trustedCertificates?: readonly string[]
}
