import type { Tx } from '#common/db/database.ts'
import type { ImageVisibility } from '#common/states/image-states.ts'
import type { SnapshotMark } from '../../../db/image-snapshots.ts'

/** An image that a server is to be saved in, or a volume uploaded to. */
export interface SnapshotOrder extends SnapshotMark {
  readonly imageId: string
  readonly owner: string
  readonly name: string
  readonly minDiskGb: number
  readonly minRamMb: number
  readonly properties: Readonly<Record<string, string>>
  /** Absent: known once its host has made it. */
  readonly diskFormat?: string
  /** Absent: private. */
  readonly visibility?: ImageVisibility
  readonly isProtected?: boolean
  /** One of a row of backups: the one before, null for the first; absent: an image of its own. */
  readonly backupSince?: string | null
  /** Its host may keep the content, and gateways read it there; absent: their store is to have it. */
  readonly mayStayAtHost?: true
}

/** What saving servers and volumes needs of the image service. */
export interface ServerImages {
  /** Afterwards the image waits for its content. Throws `over-quota`. */
  reserve(tx: Tx, order: SnapshotOrder): Promise<void>
  /** Afterwards there is no such image. */
  withdraw(tx: Tx, imageId: string): Promise<void>
  /** Proof for the image service that this cell may fill this image. */
  fillTicket(imageId: string, cellId: string): string
  /**
   * Removes images that no server or volume is saved in any more, if there are any and `mayRemove` is true; the answer is how
   * many.
   */
  tidy(mayRemove?: () => Promise<boolean>): Promise<number>
}
