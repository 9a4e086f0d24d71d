import type { operations } from '#openapi/compute.gen.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { apiVersions } from '../../../views/api-version.ts'

type Op = operations['listVersions']

/** GET / */
export async function listVersions({ links }: Call<Op>): Promise<Answer<Op>> {
  return { body: { versions: apiVersions(links) } }
}
