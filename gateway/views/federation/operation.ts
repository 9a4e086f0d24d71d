import type { Cells } from '../../app/hosts/host-state.ts'
import type { DrainProgress, NamedMove } from '../../app/operations/drain-progress.ts'
import type { OperationRecord } from '../../db/operations.ts'

/** An operation as the federation API shows it. */
export function operationView(operation: OperationRecord, cells: Cells) {
  const { id, kind, state, subjectId, subject, cellId, endedAt } = operation
  return {
    id,
    kind,
    state,
    subject_id: subjectId,
    subject,
    cell: cellId === null ? null : (cells.cell(cellId)?.name ?? null),
    cell_id: cellId,
    total: operation.total,
    remaining: operation.remaining,
    message: operation.message,
    user_id: operation.userId,
    request_id: operation.requestId,
    is_cancellable: operation.isCancellable,
    started_at: operation.startedAt.toISOString(),
    updated_at: operation.updatedAt.toISOString(),
    ended_at: isoTime(endedAt),
  }
}

/** How far a drain has come, as part of the view of its operation. */
export function progressView({ moves, estimatedEndAt }: DrainProgress) {
  return { estimated_end_at: isoTime(estimatedEndAt), moves: moves.map(moveView) }
}

function moveView(shown: NamedMove) {
  const { serverId, requestId, startedAt, endedAt, notBefore: _, ...move } = shown
  return {
    ...move,
    server_id: serverId,
    request_id: requestId,
    started_at: isoTime(startedAt),
    ended_at: isoTime(endedAt),
  }
}

function isoTime(time: Date | null): string | null {
  return time === null ? null : time.toISOString()
}
