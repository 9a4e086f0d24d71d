import type { Domain as DomainBody } from '#openapi/identity.gen.ts'
import type { Domain } from '../../app/identity/model.ts'
import type { Links } from '../../http/links.ts'
import { optionsView } from './options.ts'

export function domainView(domain: Domain, links: Links): DomainBody {
  const { id, name, description, enabled } = domain
  const self = links.to(`/identity/v3/domains/${id}`)
  return {
    id,
    name,
    description,
    enabled,
    tags: [],
    options: optionsView(domain),
    links: { self },
  }
}
