import { Failure } from '#common/errors.ts'
import { type CatalogEndpoint, type CatalogService, catalogAt } from './catalog.ts'
import type { Identity } from './identity.ts'

/** The region of that id, of which there is one. */
export function oneRegion({ region }: Identity, id: string): string {
  if (id !== region) throw new Failure('not-found', `Region ${id} could not be found.`)
  return region
}

export interface ServiceFilter {
  readonly name?: string | undefined
  readonly type?: string | undefined
}

export function catalogServices(
  { region }: Identity,
  root: string,
  { name, type }: ServiceFilter,
): readonly CatalogService[] {
  return catalogAt(root, region).filter(
    (it) => (name === undefined || it.name === name) && (type === undefined || it.type === type),
  )
}

export function oneService({ region }: Identity, root: string, id: string): CatalogService {
  const service = catalogAt(root, region).find((it) => it.id === id)
  if (service === undefined) throw new Failure('not-found', `Service ${id} could not be found.`)
  return service
}

export interface OwnedEndpoint {
  readonly serviceId: string
  readonly endpoint: CatalogEndpoint
}

export interface EndpointFilter {
  readonly interface?: string | undefined
  readonly serviceId?: string | undefined
}

export function catalogEndpoints(
  { region }: Identity,
  root: string,
  filter: EndpointFilter,
): readonly OwnedEndpoint[] {
  return catalogAt(root, region)
    .filter(({ id }) => filter.serviceId === undefined || id === filter.serviceId)
    .flatMap(({ id, endpoints }) => endpoints.map((endpoint) => ({ serviceId: id, endpoint })))
    .filter(
      ({ endpoint }) => filter.interface === undefined || endpoint.interface === filter.interface,
    )
}

export function oneEndpoint(identity: Identity, root: string, id: string): OwnedEndpoint {
  const found = catalogEndpoints(identity, root, {}).find(({ endpoint }) => endpoint.id === id)
  if (found === undefined) throw new Failure('not-found', `Endpoint ${id} could not be found.`)
  return found
}
