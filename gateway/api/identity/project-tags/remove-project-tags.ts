import type { operations } from '#openapi/identity.gen.ts'
import { changeTags } from '../../../app/identity/change-projects.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['removeProjectTags']

/** DELETE /v3/projects/{project_id}/tags */
export async function removeProjectTags({ app, context, params }: Call<Op>): Promise<Answer<Op>> {
  const rule = 'identity:delete_project_tags'
  await changeTags(app.identity, context, params.project_id, rule, () => [])
  return {}
}
