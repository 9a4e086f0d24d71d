import type { operations } from '#openapi/identity.gen.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { versionView } from '../../../views/identity/version.ts'

type Op = operations['showVersion']

/** GET /v3 */
export async function showVersion({ links }: Call<Op>): Promise<Answer<Op>> {
  return { body: { version: versionView(links) } }
}
