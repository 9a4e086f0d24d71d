import type { operations } from '#openapi/identity.gen.ts'
import { ENFORCEMENT_MODEL } from '../../../app/identity/limits/read-limits.ts'
import type { Answer } from '../../../http/operation.ts'

type Op = operations['showLimitModel']

/** GET /v3/limits/model */
export async function showLimitModel(): Promise<Answer<Op>> {
  return { body: { model: ENFORCEMENT_MODEL } }
}
