import type { User as UserBody } from '#openapi/identity.gen.ts'
import type { User } from '../../app/identity/model.ts'
import type { Links } from '../../http/links.ts'

export function userView(user: User, links: Links): UserBody {
  const { id, name, domain, description, email, defaultProjectId, enabled, options, extra } = user
  return {
    ...extra,
    id,
    name,
    domain_id: domain.id,
    description,
    email,
    default_project_id: defaultProjectId,
    enabled,
    password_expires_at: null,
    options,
    links: { self: links.to(`/identity/v3/users/${id}`) },
  }
}
