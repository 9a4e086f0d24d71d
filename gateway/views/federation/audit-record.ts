import type { NumberedRecord } from '../../db/audit-records.ts'

const FAILURE = 400

/** An audit record as the federation API shows it. */
export function auditRecordView(record: NumberedRecord) {
  const { n, at, userId, userName, projectId, action, target, status, requestId } = record
  return {
    id: String(n),
    at: at.toISOString(),
    user_id: userId,
    user_name: userName,
    project_id: projectId,
    action,
    target,
    outcome: status < FAILURE ? ('success' as const) : ('failure' as const),
    status,
    request_id: requestId,
  }
}
