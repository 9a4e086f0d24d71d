import type { operations } from '#openapi/identity.gen.ts'
import { isProject, oneProject, relativesOf } from '../../../app/identity/projects.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { projectView } from '../../../views/identity/project.ts'
import { relativesView } from '../../../views/identity/relatives.ts'

type Op = operations['showProject']

/** GET /v3/projects/{project_id} */
export async function showProject(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, query, links } = call
  const project = await oneProject(app.identity, context, params.project_id)
  const view = projectView(project, links)
  const asked = {
    parents: formOf(query.parents_as_list, query.parents_as_ids),
    subtree: formOf(query.subtree_as_list, query.subtree_as_ids),
  }
  const isAsked = asked.parents !== undefined || asked.subtree !== undefined
  if (!isAsked || !isProject(project)) return { body: { project: view } }
  const relatives = await relativesOf(app.identity, project)
  return { body: { project: { ...view, ...relativesView(project, relatives, asked, links) } } }
}

function formOf(asList: unknown, asIds: unknown): 'list' | 'ids' | undefined {
  if (asList !== undefined) return 'list'
  return asIds === undefined ? undefined : 'ids'
}
