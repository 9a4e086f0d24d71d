import type { operations } from '#openapi/identity.gen.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { regionView } from '../../../views/identity/region.ts'
import { listBody } from '../list-body.ts'

type Op = operations['listRegions']

/** GET /v3/regions */
export async function listRegions(call: Call<Op>): Promise<Answer<Op>> {
  const found = { items: [call.app.identity.region], isTruncated: false }
  return { body: listBody(call, 'regions', found, (id) => regionView(id, call.links)) }
}
