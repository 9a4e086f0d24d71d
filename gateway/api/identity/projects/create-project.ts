import type { operations } from '#openapi/identity.gen.ts'
import { createProject as makeProject } from '../../../app/identity/change-projects.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { projectView } from '../../../views/identity/project.ts'

type Op = operations['createProject']

/** POST /v3/projects */
export async function createProject(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, body, links } = call
  const { name, description, domain_id, parent_id, is_domain, enabled, tags, options, ...extra } =
    body.project
  const project = await makeProject(app.identity, context, {
    name,
    description: description ?? '',
    domainId: domain_id,
    parentId: parent_id ?? undefined,
    isDomain: is_domain ?? false,
    enabled: enabled ?? true,
    tags: tags ?? [],
    immutable: options?.immutable ?? false,
    extra,
  })
  return { body: { project: projectView(project, links) } }
}
