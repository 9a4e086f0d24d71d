import type { Role as RoleBody } from '#openapi/identity.gen.ts'
import type { Role } from '../../app/identity/model.ts'
import type { Links } from '../../http/links.ts'

/** Every role is global: it belongs to no domain. */
export function roleView({ id, name, description }: Role, links: Links): RoleBody {
  const self = links.to(`/identity/v3/roles/${id}`)
  return { id, name, description, domain_id: null, options: {}, links: { self } }
}
