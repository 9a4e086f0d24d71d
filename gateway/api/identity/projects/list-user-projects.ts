import type { operations } from '#openapi/identity.gen.ts'
import { projectsOfUser } from '../../../app/identity/projects.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { projectView } from '../../../views/identity/project.ts'
import { listBody } from '../list-body.ts'
import { listQuery } from '../list-query.ts'

type Op = operations['listUserProjects']

/** GET /v3/users/{user_id}/projects */
export async function listUserProjects(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, query, links } = call
  const found = await projectsOfUser(app.identity, context, params.user_id, listQuery(query))
  return { body: listBody(call, 'projects', found, (it) => projectView(it, links)) }
}
