import type { operations } from '#openapi/identity.gen.ts'
import { addTag, changeTags, removeTag } from '../../app/identity/change-projects.ts'
import { requireTag, tagsOfProject } from '../../app/identity/projects.ts'
import type { Answer, Call } from '../../http/operation.ts'

/** PUT /v3/projects/{project_id}/tags/{value} */
export async function addProjectTag(
  call: Call<operations['addProjectTag']>,
): Promise<Answer<operations['addProjectTag']>> {
  const { app, context, params, links, raw } = call
  await addTag(app.identity, context, params.project_id, params.value)
  return { headers: { Location: links.to(raw.path) } }
}

/** GET /v3/projects/{project_id}/tags/{value}, and HEAD */
export async function checkProjectTag({
  app,
  context,
  params,
}: Call<operations['checkProjectTag']>): Promise<Answer<operations['checkProjectTag']>> {
  await requireTag(app.identity, context, params.project_id, params.value)
  return {}
}

/** GET /v3/projects/{project_id}/tags */
export async function listProjectTags(
  call: Call<operations['listProjectTags']>,
): Promise<Answer<operations['listProjectTags']>> {
  const { app, context, params, links, raw } = call
  const rule = 'identity:list_project_tags:other'
  const tags = await tagsOfProject(app.identity, context, params.project_id, rule)
  return { body: { tags, links: { self: links.to(raw.path) } } }
}

/** DELETE /v3/projects/{project_id}/tags/{value} */
export async function removeProjectTag({
  app,
  context,
  params,
}: Call<operations['removeProjectTag']>): Promise<Answer<operations['removeProjectTag']>> {
  await removeTag(app.identity, context, params.project_id, params.value)
  return {}
}

/** DELETE /v3/projects/{project_id}/tags */
export async function removeProjectTags({
  app,
  context,
  params,
}: Call<operations['removeProjectTags']>): Promise<Answer<operations['removeProjectTags']>> {
  const rule = 'identity:delete_project_tags'
  await changeTags(app.identity, context, params.project_id, rule, () => [])
  return {}
}

/** PUT /v3/projects/{project_id}/tags */
export async function replaceProjectTags(
  call: Call<operations['replaceProjectTags']>,
): Promise<Answer<operations['replaceProjectTags']>> {
  const { app, context, params, body, links, raw } = call
  const rule = 'identity:update_project_tags'
  const tags = await changeTags(app.identity, context, params.project_id, rule, () => body.tags)
  return { body: { tags, links: { self: links.to(raw.path) } } }
}
