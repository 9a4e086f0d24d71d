import type { operations } from '#openapi/identity.gen.ts'
import { oneProject } from '../../../app/identity/projects.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { projectView } from '../../../views/identity/project.ts'

type Op = operations['showProject']

/** GET /v3/projects/{project_id} */
export async function showProject(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, links } = call
  const project = await oneProject(app.identity, context, params.project_id)
  return { body: { project: projectView(project, links) } }
}
