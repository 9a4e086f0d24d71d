import type { operations } from '#openapi/identity.gen.ts'
import { registeredLimitPage } from '../../../app/identity/limits/read-limits.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { registeredLimitView } from '../../../views/identity/limit.ts'
import { listBody } from '../list-body.ts'
import { limitFilter } from './limit-filter.ts'

type Op = operations['listRegisteredLimits']

/** GET /v3/registered_limits */
export async function listRegisteredLimits(call: Call<Op>): Promise<Answer<Op>> {
  const { app, query, links } = call
  const found = await registeredLimitPage(app.identity, limitFilter(query))
  return {
    body: listBody(call, 'registered_limits', found, (it) => registeredLimitView(it, links)),
  }
}
