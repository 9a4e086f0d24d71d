import type { Role as RoleBody } from '#openapi/identity.gen.ts'
import type { Role } from '../../app/identity/model.ts'
import type { Links } from '../../http/links.ts'
import { optionsView } from './options.ts'

export function roleView(role: Role, links: Links): RoleBody {
  const { id, name, description, domainId, extra } = role
  return {
    ...extra,
    id,
    name,
    description,
    domain_id: domainId === '' ? null : domainId,
    options: optionsView(role),
    links: { self: links.to(`/identity/v3/roles/${id}`) },
  }
}
