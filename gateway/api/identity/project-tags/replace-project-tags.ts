import type { operations } from '#openapi/identity.gen.ts'
import { changeTags } from '../../../app/identity/change-projects.ts'
import type { Answer, Call } from '../../../http/operation.ts'

type Op = operations['replaceProjectTags']

/** PUT /v3/projects/{project_id}/tags */
export async function replaceProjectTags(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, body, links, raw } = call
  const rule = 'identity:update_project_tags'
  const tags = await changeTags(app.identity, context, params.project_id, rule, () => body.tags)
  return { body: { tags, links: { self: links.to(raw.path) } } }
}
