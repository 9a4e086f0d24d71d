import type { Clock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import type { ContentStore } from './content-store.ts'

/** What the operations of the image service work with. */
export interface Images {
  readonly db: Database
  readonly clock: Clock
  readonly store: ContentStore
  /** The largest content an upload may have. */
  readonly sizeMaxBytes: number
  /** Signs and checks the tickets that let cells read contents. */
  readonly ticketKey: Uint8Array
}
