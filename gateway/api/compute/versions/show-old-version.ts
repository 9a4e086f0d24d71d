import type { operations } from '#openapi/compute.gen.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { describedOldVersion } from '../../../views/api-version.ts'

type Op = operations['showOldVersion']

/** GET /v2: the endpoint from before microversions. */
export async function showOldVersion({ links }: Call<Op>): Promise<Answer<Op>> {
  return { body: { version: describedOldVersion(links) } }
}
