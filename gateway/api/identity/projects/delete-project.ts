import type { operations } from '#openapi/identity.gen.ts'
import { removeProject } from '../../../app/identity/change-projects.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['deleteProject']

/** DELETE /v3/projects/{project_id} */
export async function deleteProject({ app, context, params }: Call<Op>): Promise<Answer<Op>> {
  await removeProject(app.identity, context, params.project_id)
  return {}
}
