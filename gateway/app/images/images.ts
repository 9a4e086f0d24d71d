import type { KeyObject } from 'node:crypto'
import type { Clock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import type { ImageLimits } from './image-quota.ts'
import type { ImportRules } from './import/import-url.ts'
import type { ContentStore } from './store/content-store.ts'
import type { UploadSlots } from './upload-slots.ts'

/** The services that the operations of the image service use. */
export interface Images {
  readonly db: Database
  readonly clock: Clock
  readonly store: ContentStore
  /** Of clients and hosts; imports have a limit of their own. */
  readonly uploadSlots: UploadSlots
  /** The largest content an upload may have. */
  readonly sizeMaxBytes: number
  /** True: a content may be of another format than its image says, as Glance lets it be. */
  readonly mayFormatsDiffer: boolean
  readonly limits: ImageLimits
  readonly importRules: ImportRules
  /** Called when there is an import to do. */
  readonly importsDue: () => void
  /** Signs and checks the tickets that let cells read contents. */
  readonly ticketKey: KeyObject
}
