import type { operations } from '#openapi/federation.gen.ts'
import { auditPage } from '../../app/audit/audit-page.ts'
import type { Handler } from '../../http/operation.ts'
import { auditRecordView } from '../../views/federation/audit-record.ts'

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
