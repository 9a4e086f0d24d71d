import type { operations } from '#openapi/identity.gen.ts'
import { allProjects } from '../../../app/identity/projects.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { projectView } from '../../../views/identity/project.ts'
import { listBody } from '../list-body.ts'

type Op = operations['listProjects']

/** GET /v3/projects */
export async function listProjects(call: Call<Op>): Promise<Answer<Op>> {
  const { app, query, links } = call
  const found = await allProjects(app.identity, {
    name: query.name,
    domainId: query.domain_id,
    enabled: query.enabled,
  })
  return { body: listBody(call, 'projects', found, (project) => projectView(project, links)) }
}
