import type { Inference as InferenceBody, InferredRole } from '#openapi/identity.gen.ts'
import type { Role } from '../../app/identity/model.ts'
import type { Inference } from '../../app/identity/roles.ts'
import type { Links } from '../../http/links.ts'

export function inferenceView({ prior, implies }: Inference, links: Links): InferenceBody {
  return {
    prior_role: inferredRole(prior, links),
    implies: implies.map((role) => inferredRole(role, links)),
  }
}

export function inferredRole({ id, name, description }: Role, links: Links): InferredRole {
  return { id, name, description, links: { self: links.to(`/identity/v3/roles/${id}`) } }
}
