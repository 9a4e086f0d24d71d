import type { Catalog, Endpoint, Service } from '#openapi/identity.gen.ts'
import type { CatalogEndpoint, CatalogService } from '../../app/identity/catalog.ts'
import type { Links } from '../../http/links.ts'

export function catalogView(catalog: readonly CatalogService[]): Catalog {
  return catalog.map(({ id, type, name, endpoints }) => ({ id, type, name, endpoints }))
}

export function serviceView(service: CatalogService, links: Links): Service {
  const { id, type, name, description } = service
  const self = links.to(`/identity/v3/services/${id}`)
  return { id, type, name, description, enabled: true, links: { self } }
}

export function endpointView(endpoint: CatalogEndpoint, serviceId: string, links: Links): Endpoint {
  const self = links.to(`/identity/v3/endpoints/${endpoint.id}`)
  return { ...endpoint, service_id: serviceId, enabled: true, links: { self } }
}
