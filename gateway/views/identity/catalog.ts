import type { Catalog, Endpoint, Region, Service } from '#openapi/identity.gen.ts'
import type {
  RegisteredEndpoint,
  RegisteredRegion,
  RegisteredService,
} from '../../app/identity/registered-catalog.ts'
import type { CatalogService } from '../../app/identity/token-catalog.ts'
import type { Links } from '../../http/links.ts'

export function catalogView(catalog: readonly CatalogService[]): Catalog {
  return catalog.map(({ id, type, name, endpoints }) => ({ id, type, name, endpoints }))
}

export function regionView(region: RegisteredRegion, links: Links): Region {
  const { id, description, parentRegionId, extra } = region
  const self = links.to(`/identity/v3/regions/${encodeURIComponent(id)}`)
  return { ...extra, id, description, parent_region_id: parentRegionId, links: { self } }
}

export function serviceView(service: RegisteredService, links: Links): Service {
  const { id, type, name, description, enabled, extra } = service
  const self = links.to(`/identity/v3/services/${id}`)
  return { ...extra, id, type, name, description, enabled, links: { self } }
}

export function endpointView(endpoint: RegisteredEndpoint, links: Links): Endpoint {
  const { id, serviceId, interface: interfaceName, regionId, url, enabled, extra } = endpoint
  return {
    ...extra,
    id,
    service_id: serviceId,
    interface: interfaceName,
    region: regionId,
    region_id: regionId,
    url,
    enabled,
    links: { self: links.to(`/identity/v3/endpoints/${id}`) },
  }
}
