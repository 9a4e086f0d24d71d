import type { operations } from '#openapi/federation.gen.ts'
import { auditPage } from '../../app/audit/audit-page.ts'
import type { NumberedRecord } from '../../db/audit-records.ts'
import type { Handler } from '../../http/operation.ts'

const LIMIT = 100

/** GET /v1/audit */
export const listAudit: Handler<operations['listAudit']> = async ({ app, query }) => {
  const { limit = LIMIT, cursor, outcome } = query
  const filter = {
    userId: query.user,
    projectId: query.project,
    requestId: query.request,
    action: query.action,
    hasFailed: outcome === undefined ? undefined : outcome === 'failure',
  }
  const { records, next } = await auditPage(app.db, filter, limit, cursor)
  return { body: { records: records.map(auditRecordView), next } }
}

const FAILURE = 400

/** An audit record as the federation API shows it. */
function auditRecordView(record: NumberedRecord) {
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
