import type { Region } from '#openapi/identity.gen.ts'
import type { Links } from '../../http/links.ts'

export function regionView(id: string, links: Links): Region {
  const self = links.to(`/identity/v3/regions/${id}`)
  return { id, description: '', parent_region_id: null, links: { self } }
}
