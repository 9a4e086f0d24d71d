import type { operations } from '#openapi/identity.gen.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { versionView } from '../../views/identity/version.ts'

/** GET /: 300 and a double envelope, as clients of Keystone look for it. */
export async function listVersions({
  links,
}: Call<operations['listVersions']>): Promise<Answer<operations['listVersions']>> {
  return { body: { versions: { values: [versionView(links)] } } }
}

/** GET /v3 */
export async function showVersion({
  links,
}: Call<operations['showVersion']>): Promise<Answer<operations['showVersion']>> {
  return { body: { version: versionView(links) } }
}
