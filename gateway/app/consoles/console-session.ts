import type { CellId, HostId, InstanceId } from '#common/ids.ts'

export type ConsoleKind = 'serial' | 'vnc'

/** Which console of which guest: of this attempt, on this host. */
export interface ConsolePlace {
  readonly serverId: InstanceId
  readonly attempt: number
  readonly cellId: CellId
  readonly hostId: HostId
  readonly kind: ConsoleKind
}

/** One console that was asked for, and may be opened once. */
export interface ConsoleSession {
  readonly id: string
  readonly projectId: string
  /** Id of the token it was asked for with. */
  readonly callerTokenId: string
  readonly place: ConsolePlace
}
