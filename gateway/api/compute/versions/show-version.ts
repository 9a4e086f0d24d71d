import type { operations } from '#openapi/compute.gen.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { describedVersion } from '../../../views/api-version.ts'

type Op = operations['showVersion']

/** GET /v2.1: clients discover the range of microversions here, before they have a token. */
export async function showVersion({ links }: Call<Op>): Promise<Answer<Op>> {
  return { body: { version: describedVersion(links) } }
}
