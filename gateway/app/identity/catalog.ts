import { hash } from 'node:crypto'

const INTERFACES = ['public', 'internal', 'admin'] as const
export type Interface = (typeof INTERFACES)[number]

export interface CatalogService {
  readonly id: string
  readonly type: string
  readonly name: string
  readonly description: string
  readonly endpoints: readonly CatalogEndpoint[]
}

export interface CatalogEndpoint {
  readonly id: string
  readonly interface: Interface
  readonly region: string
  readonly region_id: string
  readonly url: string
}

/**
 * What is in the catalog. Image and network URLs carry no version, because gophercloud and Terraform append `v2/`
 * and `v2.0/` themselves; the compute URL carries one, because they append nothing there.
 */
const SERVICES = [
  { type: 'identity', name: 'keystone', path: '/identity', description: 'Identity' },
  { type: 'compute', name: 'nova', path: '/compute/v2.1', description: 'Compute' },
  { type: 'image', name: 'glance', path: '/image', description: 'Images' },
  { type: 'network', name: 'neutron', path: '/networking', description: 'Networks' },
  { type: 'placement', name: 'placement', path: '/placement', description: 'Placement' },
] as const

/** The services of this deployment for whoever reaches it at `root`; derived, so it is the same at every gateway. */
export function catalogAt(root: string, region: string): readonly CatalogService[] {
  return SERVICES.map(({ path, ...service }) => ({
    ...service,
    id: derivedId(`service ${service.type}`),
    endpoints: INTERFACES.map((face) => ({
      id: derivedId(`endpoint ${region} ${service.type} ${face}`),
      interface: face,
      region,
      region_id: region,
      url: root + path,
    })),
  }))
}

const ID_LENGTH = 32

function derivedId(of: string): string {
  return hash('sha256', of, 'hex').slice(0, ID_LENGTH)
}
