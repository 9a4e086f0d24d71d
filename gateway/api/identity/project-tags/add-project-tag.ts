import type { operations } from '#openapi/identity.gen.ts'
import { addTag } from '../../../app/identity/change-projects.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['addProjectTag']

/** PUT /v3/projects/{project_id}/tags/{value} */
export async function addProjectTag(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, links, raw } = call
  await addTag(app.identity, context, params.project_id, params.value)
  return { headers: { Location: links.to(raw.path) } }
}
