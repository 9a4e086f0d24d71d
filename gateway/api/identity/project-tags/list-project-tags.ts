import type { operations } from '#openapi/identity.gen.ts'
import { tagsOfProject } from '../../../app/identity/projects.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['listProjectTags']

/** GET /v3/projects/{project_id}/tags */
export async function listProjectTags(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, links, raw } = call
  const rule = 'identity:list_project_tags:other'
  const tags = await tagsOfProject(app.identity, context, params.project_id, rule)
  return { body: { tags, links: { self: links.to(raw.path) } } }
}
