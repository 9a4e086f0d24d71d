import type { Limit, RegisteredLimit as RegisteredLimitBody } from '#openapi/identity.gen.ts'
import type { LimitedResource, OwnLimit, RegisteredLimit } from '../../app/identity/limits/limit.ts'
import type { Links } from '../../http/links.ts'

export function registeredLimitView(limit: RegisteredLimit, links: Links): RegisteredLimitBody {
  const { id, resource, defaultLimit, description } = limit
  return {
    id,
    ...resourceView(resource),
    default_limit: defaultLimit,
    description,
    links: { self: links.to(`/identity/v3/registered_limits/${id}`) },
  }
}

export function limitView(limit: OwnLimit, links: Links): Limit {
  const { id, resource, owner, resourceLimit, description } = limit
  return {
    id,
    ...resourceView(resource),
    resource_limit: resourceLimit,
    description,
    project_id: owner.type === 'project' ? owner.id : null,
    domain_id: owner.type === 'domain' ? owner.id : null,
    links: { self: links.to(`/identity/v3/limits/${id}`) },
  }
}

function resourceView({ serviceId, regionId, name }: LimitedResource) {
  return { service_id: serviceId, region_id: regionId, resource_name: name }
}
