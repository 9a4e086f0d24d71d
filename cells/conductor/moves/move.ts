import type { Tx } from '#common/db/database.ts'
import type { HostAct } from '#openapi/wire/act.ts'
import type { InstanceBuild, OperationRef } from '#openapi/wire/instance.ts'
import type { MigrationStatus } from '#openapi/wire/migration.ts'
import type { InstancePart } from '../acts/act-effects.ts'
import type { Conductor } from '../conductor.ts'
import type { Instance, PlacedOn } from '../instance.ts'

/** Actions in which two hosts take part: among them a resize for which the server's own host has no room, its confirmation and its reversal. */
export type MoveName =
  | 'migrate'
  | 'resize'
  | 'live-migrate'
  | 'evacuate'
  | 'confirm-resize'
  | 'revert-resize'

/** The move as requested. It holds secrets, so it is stored sealed. */
export interface MoveOrder {
  readonly migrationId: string
  /** The server as it will be after the move; null for moves that do not need it. */
  readonly build: InstanceBuild | null
  readonly userId: string
  /** Of the request; absent where an older gateway asked: as the server's. */
  readonly projectId?: string | undefined
  readonly oldFlavorId: string
  /** True: an evacuated guest is not started. */
  readonly staysOff?: boolean
}

/** A type, not an interface: it is logged as JSON. */
type LoggedPlace = { readonly [key in keyof PlacedOn]: PlacedOn[key] }
/** The host that a server leaves, and the host that it goes to. */
export type Places = { readonly source: LoggedPlace; readonly dest: LoggedPlace }

/** The arguments of a move. */
export interface Moving {
  readonly deps: Conductor
  readonly operation: OperationRef
  readonly name: MoveName
  /** As it was when the move was found possible. */
  readonly instance: Instance
  readonly order: MoveOrder
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** What the cell knows of the host that the server leaves. */
export interface SourceHost {
  /** True: it was powered off, and has not started again since. */
  readonly isOff: boolean
}

/** A step of a move that one of the two hosts carries out. */
export interface HostStep {
  readonly at: keyof Places
  /** `peerInfo` is what the other host answered for this one, such as the address it listens on for the guest. */
  readonly ask: (build: InstanceBuild, peerInfo: string, source: SourceHost) => HostAct
  /** True: a failure of this step does not fail the move; a reconciler later finds and repairs the remains. */
  readonly mayFail?: true
  /** True from the point of no return on: the guest is on its new host. */
  readonly isForwardOnly?: true
}

/** A step of a move: of one host, or the copy of files from the one host to the other. */
export type MoveStep = HostStep | 'copy'

export interface MoveFailure {
  /** True: both hosts are as they were before. */
  readonly isRolledBack: boolean
  readonly status: MigrationStatus
}

export interface MovePlan {
  /** Runs in the first transaction: chooses the two hosts and claims room on them. Throws `no-capacity`; then nothing has begun. */
  readonly begin: (tx: Tx, moving: Moving) => Promise<Places>
  readonly steps: readonly MoveStep[]
  /** The steps that undo a move after one of its steps has failed, whichever of them were done. */
  readonly back: readonly MoveStep[]
  /** True when the guest runs after the move. */
  readonly runs: (moving: Pick<Moving, 'instance' | 'order'>) => boolean
  /** Runs in the last transaction; returns what changes of the instance. */
  readonly done: (tx: Tx, moving: Moving, places: Places) => Promise<InstancePart>
  readonly failed: (
    tx: Tx,
    moving: Moving,
    places: Places,
    how: MoveFailure,
  ) => Promise<InstancePart>
}
