import type { operations } from '#openapi/identity.gen.ts'
import { requireTag } from '../../../app/identity/projects.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['checkProjectTag']

/** GET /v3/projects/{project_id}/tags/{value}, and HEAD */
export async function checkProjectTag({ app, context, params }: Call<Op>): Promise<Answer<Op>> {
  await requireTag(app.identity, context, params.project_id, params.value)
  return {}
}
