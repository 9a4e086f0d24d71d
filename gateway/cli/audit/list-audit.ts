import type { components, operations } from '#openapi/federation.gen.ts'
import type { Operator } from '../operator.ts'
import { everyPage } from '../output/pages.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { type Listing, listView } from '../output/view.ts'

export type AuditRecord = components['schemas']['AuditRecord']
type Query = NonNullable<operations['listAudit']['parameters']['query']>

export interface AuditOptions
  extends ViewOptions,
    Pick<Query, 'user' | 'project' | 'request' | 'action' | 'outcome'> {
  readonly limit: number
}

/** How audit records are shown. */
export const AUDIT_LISTING: Listing<AuditRecord> = {
  plural: 'audit records',
  nameOf: ({ id }) => id,
  columns: [
    { head: 'AT', of: ({ at }) => at },
    { head: 'USER', of: ({ user_name }) => user_name },
    { head: 'ACTION', of: ({ action }) => action },
    {
      head: 'STATUS',
      of: ({ status }) => status,
      emphasis: ({ outcome }) => (outcome === 'success' ? 'success' : 'error'),
    },
    { head: 'TARGET', of: ({ target }) => target },
    { head: 'REQUEST', of: ({ request_id }) => request_id, isWide: true },
    { head: 'PROJECT', of: ({ project_id }) => project_id, isWide: true },
    { head: 'USER ID', of: ({ user_id }) => user_id, isWide: true },
    { head: 'TRACE', of: ({ trace_id }) => trace_id, isWide: true },
    { head: 'ID', of: ({ id }) => id, isWide: true },
  ],
}

export async function listAudit(operator: Operator, options: AuditOptions): Promise<void> {
  const { user, project, request, action, outcome, limit } = options
  const asked = { user, project, request, action, outcome }
  const of = Object.fromEntries(
    Object.entries(asked).filter(([, value]) => value !== undefined),
  ) as Query
  await present(operator, options, async ({ federation }) => {
    const found = await everyPage(async (cursor) => {
      const page = await federation.ask('get', '/v1/audit', { query: { ...of, ...cursor } })
      return { items: page.records, next: page.next }
    }, limit)
    return listView(found, AUDIT_LISTING)
  })
}
