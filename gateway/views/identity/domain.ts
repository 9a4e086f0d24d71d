import type { Domain as DomainBody } from '#openapi/identity.gen.ts'
import type { Domain } from '../../app/identity/model.ts'
import type { Links } from '../../http/links.ts'

export function domainView({ id, name, description, enabled }: Domain, links: Links): DomainBody {
  const self = links.to(`/identity/v3/domains/${id}`)
  return { id, name, description, enabled, tags: [], options: {}, links: { self } }
}
