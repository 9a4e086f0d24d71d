import type { operations } from '#openapi/identity.gen.ts'
import { ownLimitPage } from '../../../app/identity/limits/read-limits.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { limitView } from '../../../views/identity/limit.ts'
import { listBody } from '../list-body.ts'
import { limitFilter } from './limit-filter.ts'

type Op = operations['listLimits']

/** GET /v3/limits */
export async function listLimits(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, query, links } = call
  const { project_id: projectId, domain_id: domainId } = query
  const asked = { ...limitFilter(query), projectId, domainId }
  const found = await ownLimitPage(app.identity, context, asked)
  return { body: listBody(call, 'limits', found, (it) => limitView(it, links)) }
}
