import type { Project as ProjectBody } from '#openapi/identity.gen.ts'
import type { Domain, Project } from '../../app/identity/model.ts'
import type { Links } from '../../http/links.ts'
import { optionsView } from './options.ts'

/** A project, or a domain, which is one to Keystone: that of no domain and without a parent. */
export function projectView(project: Project | Domain, links: Links): ProjectBody {
  const { id, name, description, enabled } = project
  const common = {
    id,
    name,
    description,
    enabled,
    options: optionsView(project),
    links: { self: links.to(`/identity/v3/projects/${id}`) },
  }
  if (!('domain' in project))
    return { ...common, domain_id: null, parent_id: null, is_domain: true, tags: [] }
  const { domain, parentId, tags, extra } = project
  return {
    ...extra,
    ...common,
    domain_id: domain.id,
    parent_id: parentId ?? domain.id,
    is_domain: false,
    tags,
  }
}
