import { bigint, boolean, index, int, mysqlTable, primaryKey, text } from 'drizzle-orm/mysql-core'
import { fixedToken, text255, time, token, uuid } from '#common/db/columns.ts'

/** Long work that an operator has begun and that continues by itself, also after a restart. */
export const operations = mysqlTable(
  'operations',
  {
    id: uuid('id').primaryKey(),
    kind: token('kind', 32).notNull(),
    state: token('state', 16).notNull(),
    /** The kind and the subject while it runs: only one operation of a kind runs for a subject. Null once it has ended. */
    slot: token('slot').unique(),
    subjectId: uuid('subject_id').notNull(),
    /** The subject's name. */
    subject: token('subject').notNull(),
    cellId: uuid('cell_id').notNull(),
    /** Why, in the operator's words. */
    reason: text255('reason'),
    /** True once the host took no new server: from then on, one that does was taken back. */
    isCordoned: boolean('is_cordoned').notNull().default(false),
    /** Its servers are moved; else it is waited until they are gone. */
    movesServers: boolean('moves_servers').notNull().default(false),
    /** The most servers that move at a time. */
    parallel: int('parallel').notNull().default(1),
    /** No server is stopped to move it. */
    liveOnly: boolean('live_only').notNull().default(false),
    /** Servers that no other host of their cell takes are moved to other cells. */
    toOtherCells: boolean('to_other_cells').notNull().default(false),
    /** An operator has said that no guest of the host runs while it is down: its servers are built again elsewhere. */
    evacuates: boolean('evacuates').notNull().default(false),
    /** When the cell fenced the host, for which the gateways began it by themselves; null: an operator began it. */
    fencedAt: time('fenced_at'),
    /** Of the recovery of a cell: snapshot, image. */
    recoversFrom: token('recovers_from', 8),
    /** No move begins afterwards; null: it goes on until the host is empty. */
    deadlineAt: time('deadline_at'),
    /** Of servers; null until they were counted. */
    total: int('total'),
    remaining: int('remaining'),
    message: text('message'),
    userId: token('user_id').notNull(),
    requestId: token('request_id').notNull(),
    startedAt: time('started_at').notNull(),
    updatedAt: time('updated_at').notNull(),
    endedAt: time('ended_at'),
  },
  (t) => [index('operations_state').on(t.state), index('operations_ended').on(t.endedAt)],
)

/** How far a move of a server to another cell has come; its operation has the kind `server-move`. */
export const serverMoves = mysqlTable('server_moves', {
  operationId: uuid('operation_id').primaryKey(),
  /** Null: any cell that can take it. */
  toCellId: uuid('to_cell_id'),
  /** active, stopped: what it was before, and is to be again. */
  formerState: token('former_state', 8).notNull(),
  /** waiting, copying, fetching, saving, offloading, carrying, changing, returning, forgetting, stopping. */
  step: token('step', 10).notNull(),
  /** When its step began. */
  stepAt: time('step_at').notNull(),
  /** Of the step, by which the server's actions have it. */
  stepRequestId: token('step_request_id').notNull(),
  /** An operator has cancelled it: it returns to where it was. */
  isCancelled: boolean('is_cancelled').notNull().default(false),
  /** Why it returns; null: it does not, or because it was cancelled. */
  failure: text('failure'),
  /** The image that its disk is copied to while it runs; null: it is saved in one pass. */
  copyImageId: uuid('copy_image_id'),
  /** The host of the other cell that fetches this image ahead; null: none does. */
  copyHostId: uuid('copy_host_id'),
  /** What was saved of its disk while it ran; null: nothing, or it is not saved yet. */
  copiedBytes: bigint('copied_bytes', { mode: 'number' }),
  /** What was saved of it while it was off; null: it is not saved yet. */
  savedBytes: bigint('saved_bytes', { mode: 'number' }),
})

/** The move of a volume to another cell, or to another store of its cell; its operation has the kind `volume-move`. */
export const volumeMoves = mysqlTable(
  'volume_moves',
  {
    operationId: uuid('operation_id').primaryKey(),
    volumeId: uuid('volume_id').notNull(),
    toCellId: uuid('to_cell_id').notNull(),
    /** The store of its cell that it was to go to, by name or id; null: any, of the cell `toCellId`. */
    toStore: text255('to_store'),
    /** In which the other cell is asked for it. */
    attempt: int('attempt').notNull(),
    /** An operator has cancelled it: the volume stays where it is. */
    isCancelled: boolean('is_cancelled').notNull().default(false),
    /** The cell in which the move has left content that is to be deleted; null: in none. */
    leftCellId: uuid('left_cell_id'),
    /** In which that cell has the content. */
    leftAttempt: int('left_attempt'),
  },
  (t) => [index('volume_moves_volume').on(t.volumeId), index('volume_moves_left').on(t.leftCellId)],
)

/** What a drain has done about each server that was on its host, and the recovery of a cell about each that was in it. */
export const drainMoves = mysqlTable(
  'drain_moves',
  {
    operationId: uuid('operation_id').notNull(),
    serverId: uuid('server_id').notNull(),
    /** waiting, moving, moved, gone; starting, of a gateway of the last release, counts as moving. */
    state: token('state', 8).notNull(),
    /** live, cold, cell, offload, evacuate; of a recovery snapshot, image; null: none was possible yet. */
    method: token('method', 8),
    tries: int('tries').notNull(),
    /** Why it waits. */
    reason: text('reason'),
    /** Of the last try. */
    requestId: token('request_id'),
    /** No try begins earlier. */
    notBefore: time('not_before'),
    startedAt: time('started_at'),
    endedAt: time('ended_at'),
  },
  (t) => [
    primaryKey({ columns: [t.operationId, t.serverId] }),
    index('drain_moves_state').on(t.state),
  ],
)

/** The rows on which reconcilers are working, and those that wait for an operator. */
export const reconcilerRows = mysqlTable(
  'reconciler_rows',
  {
    reconciler: token('reconciler', 32).notNull(),
    /** The row, as its reconciler calls it: usually a server's id. */
    rowId: token('row_id').notNull(),
    /** By which operators know it. */
    id: uuid('id').notNull().unique(),
    /** The process that works on it, fenced by the lease of its sagas. */
    owner: token('owner').notNull(),
    generation: int('generation').notNull(),
    state: fixedToken('state', 7).$type<ReconcilerRowState>().notNull(),
    /** Why it is stuck, or was before an operator continued it. */
    why: text('why'),
    takenAt: time('taken_at').notNull(),
    endedAt: time('ended_at'),
  },
  (t) => [primaryKey({ columns: [t.reconciler, t.rowId] })],
)

/**
 * `suspect`: a process ended while it worked on the row, which may be the cause. `stuck`: the row waits for an operator.
 * `ended`: the row was stuck, and the work on it has ended since; no process works on it.
 */
export type ReconcilerRowState = 'held' | 'suspect' | 'stuck' | 'ended'

/** Sagas of cells that wait for an operator, from the last report of their cell, with their outcome since. */
export const cellSagas = mysqlTable(
  'cell_sagas',
  {
    cellId: uuid('cell_id').notNull(),
    id: uuid('id').notNull(),
    name: token('name').notNull(),
    subject: token('subject').notNull(),
    state: fixedToken('state', 9).notNull(),
    /** Of one that is stuck. */
    why: text('why'),
    requestId: token('request_id'),
    startedAt: time('started_at').notNull(),
    /** When it ended or got stuck; null while it goes on. */
    endedAt: time('ended_at'),
  },
  (t) => [
    primaryKey({ columns: [t.cellId, t.id] }),
    index('cell_sagas_by_id').on(t.id),
    index('cell_sagas_ended').on(t.endedAt),
  ],
)
