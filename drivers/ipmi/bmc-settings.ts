import type { CipherSuiteId } from './cipher-suites.ts'

/** IPMI's numbers of what a user may do. */
export const PRIVILEGES = { operator: 3, administrator: 4 } as const
export type Privilege = keyof typeof PRIVILEGES

/** Where a BMC is and who speaks to it. */
export interface BmcSettings {
  readonly address: string
  readonly port: number
  /** At most 16 bytes. */
  readonly user: string
  /** At most 20 bytes. */
  readonly password: string
  readonly privilege: Privilege
  /** The only one that is spoken; absent: the strongest that the BMC has. */
  readonly cipherSuite?: CipherSuiteId
}
