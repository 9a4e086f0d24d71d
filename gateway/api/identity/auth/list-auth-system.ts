import type { operations } from '#openapi/identity.gen.ts'
import { hasSystemRole } from '../../../app/identity/domains.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { listBody } from '../list-body.ts'

type Op = operations['listAuthSystem']

/** GET /v3/auth/system */
export async function listAuthSystem(call: Call<Op>): Promise<Answer<Op>> {
  const hasRole = await hasSystemRole(call.app.identity, call.context)
  const found = { items: hasRole ? [{ all: true }] : [], isTruncated: false }
  return { body: listBody(call, 'system', found, (entry) => entry) }
}
