import type { operations } from '#openapi/compute.gen.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { oldVersion } from '../../../views/api-version.ts'

type Op = operations['showOldVersion']

/** GET /v2: where the list of versions leads whoever looks for the old one. */
export async function showOldVersion({ links }: Call<Op>): Promise<Answer<Op>> {
  return { body: { version: oldVersion(links) } }
}
