import type { Project as ProjectBody } from '#openapi/identity.gen.ts'
import type { Project } from '../../app/identity/model.ts'
import type { Links } from '../../http/links.ts'

/** Projects are not nested: the parent of each is its domain. */
export function projectView(project: Project, links: Links): ProjectBody {
  const { id, name, description, enabled, domain } = project
  return {
    id,
    name,
    domain_id: domain.id,
    description,
    enabled,
    parent_id: domain.id,
    is_domain: false,
    tags: [],
    options: {},
    links: { self: links.to(`/identity/v3/projects/${id}`) },
  }
}
