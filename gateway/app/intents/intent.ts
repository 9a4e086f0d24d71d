import type { WorkContext } from '#common/context.ts'
import type { CellId, InstanceId } from '#common/ids.ts'
import type { Wish } from '#common/states/wishes.ts'

/** A wish that waits for the server's cell. */
export interface Intent {
  readonly id: string
  readonly serverId: InstanceId
  readonly wish: Wish
  /** Of the server. */
  readonly projectId: string
  /** Who asked. */
  readonly userId: string
  /** Of the request that asked. */
  readonly work: WorkContext
}

/** An intent as it is listed. */
export interface ListedIntent extends Intent {
  /** Grows from one to the next. */
  readonly serial: number
  readonly cellId: CellId | null
  readonly createdAt: Date
}
