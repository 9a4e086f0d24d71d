import { hash } from 'node:crypto'
import type {
  RegisteredEndpoint,
  RegisteredRegion,
  RegisteredService,
} from './registered-catalog.ts'

const INTERFACES = ['public', 'internal', 'admin'] as const
export type Interface = (typeof INTERFACES)[number]

/** Regions, services and endpoints: those of this deployment, and those registered beside them. */
export interface CatalogEntries {
  readonly regions: readonly RegisteredRegion[]
  readonly services: readonly RegisteredService[]
  readonly endpoints: readonly RegisteredEndpoint[]
}

/**
 * The entries of the catalog. Image and network URLs carry no version, because gophercloud and Terraform append `v2/`
 * and `v2.0/` themselves; the compute URL carries one, because they append nothing there, and the identity URL, which
 * saves clients a request for its versions. Block storage has the type of the service types authority, and the one that
 * cinderclient looks for.
 */
const SERVICES = [
  { type: 'identity', name: 'keystone', path: '/identity/v3', description: 'Identity' },
  { type: 'compute', name: 'nova', path: '/compute/v2.1', description: 'Compute' },
  { type: 'image', name: 'glance', path: '/image', description: 'Images' },
  { type: 'network', name: 'neutron', path: '/networking', description: 'Networks' },
  { type: 'federation', name: 'weir', path: '/federation', description: 'Cells and hosts' },
  { type: 'placement', name: 'placement', path: '/placement', description: 'Placement' },
  { type: 'block-storage', name: 'cinder', path: '/volume/v3', description: 'Block Storage' },
  { type: 'volumev3', name: 'cinderv3', path: '/volume/v3', description: 'Block Storage' },
] as const

/** The services of this deployment for clients that reach it at `root`; derived, so it is the same at every gateway. */
export function catalogAt(root: string, region: string): CatalogEntries {
  return {
    regions: [{ id: region, parentRegionId: null, description: '', extra: {} }],
    services: SERVICES.map(({ type, name, description }) => ({
      id: derivedId(`service ${type}`),
      type,
      name,
      description,
      enabled: true,
      extra: {},
    })),
    endpoints: SERVICES.flatMap(({ type, path }) =>
      INTERFACES.map((interfaceName) => ({
        id: derivedId(`endpoint ${region} ${type} ${interfaceName}`),
        serviceId: derivedId(`service ${type}`),
        interface: interfaceName,
        regionId: region,
        url: root + path,
        enabled: true,
        extra: {},
      })),
    ),
  }
}

const ID_LENGTH = 32

function derivedId(of: string): string {
  return hash('sha256', of, 'hex').slice(0, ID_LENGTH)
}
