import type { operations } from '#openapi/identity.gen.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { versionView } from '../../../views/identity/version.ts'

type Op = operations['listVersions']

/** GET /: 300 and a double envelope, as clients of Keystone look for it. */
export async function listVersions({ links }: Call<Op>): Promise<Answer<Op>> {
  return { body: { versions: { values: [versionView(links)] } } }
}
