import type { Clock } from '#common/clock.ts'
import { purgeCommitMarkers } from '#common/db/commit-markers.ts'
import type { Transactional } from '#common/db/database.ts'
import { inBatches } from '#common/in-batches.ts'
import { purgeSagas } from '#common/saga/purge.ts'
import { purgeAuditRecords } from '../db/audit-records.ts'
import { purgeCellSagas } from '../db/cell-sagas.ts'
import { purgeConsoleSessions } from '../db/console-sessions.ts'
import { purgeDrainMoves } from '../db/drain-moves.ts'
import { purgeEvents } from '../db/events.ts'
import { purgeGuestRestarts } from '../db/guest-restarts.ts'
import { purgeTasks } from '../db/image-tasks.ts'
import { purgeJoinTokens } from '../db/join-tokens.ts'
import { purgeOperations } from '../db/operations.ts'
import {
  purgeActionEvents,
  purgeActions,
  purgeDeletedServers,
  purgeKeys,
  purgeTraces,
} from '../db/purges.ts'
import { purgeReconcilerRows } from '../db/reconciler-rows.ts'
import { purgeReleasedAddresses } from '../db/released-addresses.ts'
import { purgeResourceRuns } from '../db/resource-runs.ts'
import { purgeServerMoves } from '../db/server-moves.ts'
import { purgeProtections } from '../db/server-protections.ts'
import { purgeMessages } from '../db/volume-messages.ts'
import { purgeVolumeMoves } from '../db/volume-moves.ts'
import { purgeDeadLetters } from '../db/webhook-dead-letters.ts'

/** How long things are kept that no longer matter, in milliseconds. */
export interface Retention {
  readonly idempotencyKeysMs: number
  readonly actionsMs: number
  readonly eventsMs: number
  readonly auditMs: number
  readonly deadLettersMs: number
  readonly sagasMs: number
  /** Of operations, after their end. */
  readonly operationsMs: number
  /** Of the rows of deleted servers, with all their history. */
  readonly deletedServersMs: number
}

/** Rows that went, by table; what belongs to a row went with it. */
export type PurgeReport = Readonly<Record<string, number>>

/** Longer than any transaction is asked after. */
const COMMIT_MARKERS_MS = 10 * 60_000
/** Small enough that no request waits long for the rows of one batch. */
const BATCH_MAX = 500

/**
 * Deletes rows older than their retention, in short transactions, at most `batchesMax` for each table: the rest is
 * for the next call.
 */
export async function purge(
  { db, clock }: { readonly db: Transactional; readonly clock: Clock },
  retention: Retention,
  batchesMax: number,
  signal: AbortSignal,
): Promise<PurgeReport> {
  const before = (ms: number) => new Date(clock.now() - ms)
  const tables: Readonly<Record<string, (rows: number) => Promise<number>>> = {
    idempotency_keys: (rows) => purgeKeys(db, before(retention.idempotencyKeysMs), rows),
    server_action_events: (rows) => purgeActionEvents(db, before(retention.actionsMs), rows),
    server_actions: (rows) => purgeActions(db, before(retention.actionsMs), rows),
    traces: (rows) => purgeTraces(db, before(retention.actionsMs), rows),
    events: (rows) => purgeEvents(db, before(retention.eventsMs), rows),
    webhook_dead_letters: (rows) => purgeDeadLetters(db, before(retention.deadLettersMs), rows),
    audit_records: (rows) => purgeAuditRecords(db, before(retention.auditMs), rows),
    sagas: (rows) => purgeSagas(db, before(retention.sagasMs), rows),
    operations: (rows) => purgeOperations(db, before(retention.operationsMs), rows),
    drain_moves: (rows) => purgeDrainMoves(db, rows),
    server_protections: (rows) => purgeProtections(db, rows),
    guest_restarts: (rows) => purgeGuestRestarts(db, rows),
    resource_runs: (rows) => purgeResourceRuns(db, before(retention.deletedServersMs), rows),
    volume_moves: (rows) => purgeVolumeMoves(db, rows),
    server_moves: (rows) => purgeServerMoves(db, rows),
    reconciler_rows: (rows) => purgeReconcilerRows(db, before(retention.operationsMs), rows),
    cell_sagas: (rows) => purgeCellSagas(db, before(retention.operationsMs), rows),
    commit_markers: (rows) => purgeCommitMarkers(db, before(COMMIT_MARKERS_MS), rows),
    released_addresses: (rows) => purgeReleasedAddresses(db, rows),
    join_tokens: (rows) => purgeJoinTokens(db, rows),
    console_sessions: (rows) => purgeConsoleSessions(db, rows),
    image_tasks: (rows) => purgeTasks(db, before(0), rows),
    volume_messages: (rows) => purgeMessages(db, before(0), rows),
    server_index: (rows) => purgeDeletedServers(db, before(retention.deletedServersMs), rows),
  }
  const gone: Record<string, number> = {}
  for (const [table, batch] of Object.entries(tables))
    gone[table] = await inBatches({ rows: BATCH_MAX, batchesMax, signal }, batch)
  return gone
}
