import type { DocumentName } from '#openapi/load-document.ts'
import type { FaultStyle } from './faults.ts'

/** How one of the APIs behind the port looks from outside. */
export interface ServiceApi {
  readonly name: DocumentName
  /** Where the document's paths begin. */
  readonly prefix: string
  readonly faults: FaultStyle
  readonly hasMicroversions: boolean
  /** Its types in the catalog, where they are not its name. */
  readonly types?: readonly string[]
}

export const SERVICES: Readonly<Record<DocumentName, ServiceApi>> = {
  compute: { name: 'compute', prefix: '/compute', faults: 'nova', hasMicroversions: true },
  federation: {
    name: 'federation',
    prefix: '/federation',
    faults: 'problem',
    hasMicroversions: false,
  },
  identity: { name: 'identity', prefix: '/identity', faults: 'keystone', hasMicroversions: false },
  image: { name: 'image', prefix: '/image', faults: 'glance', hasMicroversions: false },
  placement: {
    name: 'placement',
    prefix: '/placement',
    faults: 'placement',
    hasMicroversions: true,
  },
  network: { name: 'network', prefix: '/networking', faults: 'neutron', hasMicroversions: false },
  volume: {
    name: 'volume',
    prefix: '/volume',
    faults: 'cinder',
    hasMicroversions: true,
    types: ['block-storage', 'volumev3'],
  },
}

/** The service whose clients call a path, whether it has the path or not; identity has the root of the port. */
export function serviceAt(path: string): ServiceApi {
  const service = Object.values(SERVICES).find(
    ({ prefix }) => path === prefix || path.startsWith(`${prefix}/`),
  )
  return service ?? SERVICES.identity
}
