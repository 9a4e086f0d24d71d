import type { Group as GroupBody } from '#openapi/identity.gen.ts'
import type { Group } from '../../app/identity/model.ts'
import type { Links } from '../../http/links.ts'

export function groupView(
  { id, name, description, domain, extra }: Group,
  links: Links,
): GroupBody {
  const self = links.to(`/identity/v3/groups/${id}`)
  return { ...extra, id, name, domain_id: domain.id, description, links: { self } }
}
