import type { operations } from '#openapi/identity.gen.ts'
import { removeTag } from '../../../app/identity/change-projects.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['removeProjectTag']

/** DELETE /v3/projects/{project_id}/tags/{value} */
export async function removeProjectTag({ app, context, params }: Call<Op>): Promise<Answer<Op>> {
  await removeTag(app.identity, context, params.project_id, params.value)
  return {}
}
