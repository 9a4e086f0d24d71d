import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/identity.gen.ts'
import { changeProject } from '../../../app/identity/change-projects.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { projectView } from '../../../views/identity/project.ts'
import { immutableOf } from '../immutable-of.ts'

type Op = operations['updateProject']

/** PATCH /v3/projects/{project_id} */
export async function updateProject(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, params, body, links } = call
  const { name, description, domain_id, parent_id, is_domain, enabled, tags, options, ...extra } =
    body.project
  if (is_domain === true) throw new Failure('invalid', 'Update of `is_domain` is not allowed.')
  const project = await changeProject(app.identity, context, params.project_id, {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description: description ?? '' }),
    ...(enabled !== undefined && { enabled }),
    ...(tags !== undefined && { tags }),
    ...immutableOf(options),
    domainId: domain_id ?? undefined,
    parentId: parent_id,
    extra,
  })
  return { body: { project: projectView(project, links) } }
}
