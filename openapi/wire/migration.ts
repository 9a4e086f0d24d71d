import { type Static, Type } from 'typebox'
import { Holding } from './numa.ts'
import { Nullable, OneOf, Time, Uuid } from './scalars.ts'

const MIGRATION_TYPES = ['migration', 'resize', 'live-migration', 'evacuation'] as const
export type MigrationType = (typeof MIGRATION_TYPES)[number]

/** Nova's words (nova/objects/fields.py and what its computes write). */
const MIGRATION_STATUSES = [
  'accepted',
  'queued',
  'preparing',
  'running',
  'pre-migrating',
  'migrating',
  'post-migrating',
  'finished',
  'confirming',
  'confirmed',
  'reverting',
  'reverted',
  'completed',
  'done',
  'cancelled',
  'failed',
  'error',
] as const
export type MigrationStatus = (typeof MIGRATION_STATUSES)[number]

const Carried = Type.Object({
  total: Type.Integer({ minimum: 0 }),
  processed: Type.Integer({ minimum: 0 }),
  remaining: Type.Integer({ minimum: 0 }),
})
/** How far a live migration has come, in bytes; null where its host cannot tell. */
export const MoveProgress = Type.Object({ memory: Nullable(Carried), disks: Nullable(Carried) })
export type MoveProgress = Static<typeof MoveProgress>

/** A change of a server's host, or of its size; kept after it has ended. */
export const MigrationView = Type.Object({
  id: Uuid,
  serverId: Uuid,
  /** Grows with every change. */
  version: Type.Integer({ minimum: 1 }),
  type: OneOf(MIGRATION_TYPES),
  status: OneOf(MIGRATION_STATUSES),
  /** Names of hosts and of their hypervisors; null where there is none yet. */
  sourceHost: Nullable(Type.String()),
  sourceNode: Nullable(Type.String()),
  destHost: Nullable(Type.String()),
  destNode: Nullable(Type.String()),
  /** Ids of flavors; the same where the size stays. */
  oldFlavorId: Type.String(),
  newFlavorId: Type.String(),
  /** Who asked for it, with a token of which project. */
  userId: Type.String(),
  projectId: Type.String(),
  /**
   * Until it is over, what it holds of the host that the server leaves, and what the server holds of another one that it
   * goes to; absent: nothing, or its cell is of a release that did not say.
   */
  held: Type.Optional(Type.Object({ source: Holding, dest: Type.Optional(Holding) })),
  createdAt: Time,
  updatedAt: Time,
})
export type MigrationView = Static<typeof MigrationView>
