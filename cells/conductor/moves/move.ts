import type { Tx } from '#common/db/database.ts'
import type { HostAct } from '#openapi/wire/act.ts'
import type { InstanceBuild, OperationRef } from '#openapi/wire/instance.ts'
import type { MigrationStatus } from '#openapi/wire/migration.ts'
import type { InstancePart } from '../acts/act-effects.ts'
import type { Conductor } from '../conductor.ts'
import type { Instance, PlacedOn } from '../instance.ts'

/** What has two hosts take part. A resize is one where the server's own host has no room, and so are its two ends. */
export type MoveName =
  | 'migrate'
  | 'resize'
  | 'live-migrate'
  | 'evacuate'
  | 'confirm-resize'
  | 'revert-resize'

/** What is asked for. It holds secrets, so it is sealed where it is kept. */
export interface MoveOrder {
  readonly migrationId: string
  /** As the server is to be then; null where nothing of it is to be known. */
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
/** From where, and to where. */
export type Places = { readonly source: LoggedPlace; readonly dest: LoggedPlace }

/** What a move has to do with. */
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

/** One thing that a host does for a move. */
export interface HostLeg {
  readonly at: keyof Places
  /** `told` is what the host before has said for this one. */
  readonly ask: (build: InstanceBuild, told: string) => HostAct
  /** True when the move is done though the host could not do it: what is left is found and put right later. */
  readonly mayFail?: true
  /** True from the point of no return on: the guest has gone over. */
  readonly isForwardOnly?: true
}

/** Or the bytes that are carried between the two. */
export type Leg = HostLeg | 'copy'

export interface HowItFailed {
  /** True: both hosts are as they were before. */
  readonly isTakenBack: boolean
  readonly status: MigrationStatus
}

export interface MovePlan {
  /** With the first commit: the two hosts, and their claims. Throws `no-capacity`, and nothing has begun. */
  readonly begin: (tx: Tx, moving: Moving) => Promise<Places>
  readonly legs: readonly Leg[]
  /** What is done, whatever became of the legs, when one of them could not be. */
  readonly back: readonly Leg[]
  /** True when the guest is to run afterwards. */
  readonly runs: (moving: Pick<Moving, 'instance' | 'order'>) => boolean
  /** With the last commit; what the instance is then. */
  readonly done: (tx: Tx, moving: Moving, places: Places) => Promise<InstancePart>
  readonly failed: (
    tx: Tx,
    moving: Moving,
    places: Places,
    how: HowItFailed,
  ) => Promise<InstancePart>
}
