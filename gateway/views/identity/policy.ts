import type { StoredPolicy } from '../../db/identity/policies.ts'
import type { Links } from '../../http/links.ts'

/** Rules of another service, with what it added. */
export function policyView({ id, type, blob, extra }: StoredPolicy, links: Links) {
  return { ...extra, id, type, blob, links: { self: links.to(`/identity/v3/policies/${id}`) } }
}
