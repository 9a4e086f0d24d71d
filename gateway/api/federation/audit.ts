import type { operations } from '#openapi/federation.gen.ts'
import { auditPage } from '../../app/audit/audit-page.ts'
import type { NumberedRecord } from '../../db/audit-records.ts'
import type { Handler } from '../../http/operation.ts'
import { tracePage } from '../../traces.ts'

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
  const { pageUrl } = app.config.traces
  return { body: { records: records.map((each) => auditRecordView(each, pageUrl)), next } }
}

const FAILURE = 400

/** An audit record as the federation API shows it. */
function auditRecordView(record: NumberedRecord, pageUrl: string | undefined) {
  const { n, at, userId, userName, projectId, action, target, status, requestId, traceId } = record
  const hasPage = pageUrl !== undefined && traceId !== null
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
    trace_id: traceId,
    trace_url: hasPage ? tracePage(pageUrl, traceId) : null,
  }
}
