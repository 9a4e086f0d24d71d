import type { Clock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import type { FreeAddresses } from './free-addresses.ts'

/** What the operations of the network service work with. */
export interface Networks {
  readonly db: Database
  readonly clock: Clock
  readonly freeAddresses: FreeAddresses
  /** The largest frame a network carries unless it says less. */
  readonly mtuMax: number
}
