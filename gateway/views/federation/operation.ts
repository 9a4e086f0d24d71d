import type { Cells } from '../../app/hosts/host-state.ts'
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
    ended_at: endedAt === null ? null : endedAt.toISOString(),
  }
}
