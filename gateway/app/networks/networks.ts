import type { Clock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'

/** What the operations of the network service work with. */
export interface Networks {
  readonly db: Database
  readonly clock: Clock
  /** The largest frame a network carries unless it says less. */
  readonly mtuMax: number
}
