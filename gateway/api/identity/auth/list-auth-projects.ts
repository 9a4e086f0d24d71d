import type { operations } from '#openapi/identity.gen.ts'
import { projectsOfUser } from '../../../app/identity/projects.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { projectView } from '../../../views/identity/project.ts'
import { listBody } from '../list-body.ts'

type Op = operations['listAuthProjects']

/** GET /v3/auth/projects */
export async function listAuthProjects(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, links } = call
  const found = await projectsOfUser(app.identity, context, context.userId, { enabled: true })
  return { body: listBody(call, 'projects', found, (project) => projectView(project, links)) }
}
