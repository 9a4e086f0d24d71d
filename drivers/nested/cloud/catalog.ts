import { type Static, Type } from 'typebox'
import { Failure } from '#common/errors.ts'
import { withoutTrailing } from '#common/without-trailing.ts'
import { Nullable } from '#openapi/wire/scalars.ts'
import type { NestedSettings } from '../settings.ts'
import { checkCloudUrl } from './check-address.ts'

const NEEDED_SERVICES = ['compute', 'image', 'network'] as const
/** What a cloud may lack: Block Storage, and what only a Weir has. */
const OTHER_SERVICES = ['volume', 'federation'] as const
export type CloudService = (typeof NEEDED_SERVICES)[number] | (typeof OTHER_SERVICES)[number]
export type Endpoints = Readonly<Record<(typeof NEEDED_SERVICES)[number], URL>> &
  Readonly<Partial<Record<(typeof OTHER_SERVICES)[number], URL>>>

/** Where a catalog has other names for a service than ours, the first that it has counts. */
const CATALOG_TYPES: Readonly<Partial<Record<CloudService, readonly string[]>>> = {
  volume: ['block-storage', 'volumev3'],
}

/** Of Keystone's catalog, what the driver reads. */
export const Catalog = Type.Array(
  Type.Object({
    type: Type.String(),
    endpoints: Type.Array(
      Type.Object({
        interface: Type.String(),
        region_id: Type.Optional(Nullable(Type.String())),
        url: Type.String(),
      }),
    ),
  }),
)
export type Catalog = Static<typeof Catalog>

/** The path below each service's endpoint, whether or not the catalog's URL has it already. */
const VERSION_PATHS: Readonly<Record<CloudService, string>> = {
  compute: '',
  image: '/v2',
  network: '/v2.0',
  volume: '/v3',
  federation: '/v1',
}

/** Where each service is, without a trailing slash. Throws `unavailable` for one that the catalog lacks and is needed. */
export function endpointsOf(
  catalog: Catalog,
  projectId: string,
  settings: NestedSettings,
): Endpoints {
  const urlOf = (service: CloudService, url: string) => {
    const given = withoutTrailing(url, '/')
    const base = withoutProject(given, projectId)
    const path = VERSION_PATHS[service]
    const versioned = base.endsWith(path) ? base : `${base}${path}`
    // Cinder requires the project in its paths until 3.67.
    const whole = service === 'volume' && base !== given ? `${versioned}/${projectId}` : versioned
    return checkCloudUrl(`The catalog's ${service} endpoint`, whole, settings)
  }
  const found = NEEDED_SERVICES.map((service) => {
    const url = endpointOf(catalog, service, settings)
    if (url !== undefined) return [service, urlOf(service, url)]
    const { interface: interfaceName, region } = settings
    const where = region === undefined ? '' : ` in region ${region}`
    throw new Failure(
      'unavailable',
      `The nested cloud has no ${interfaceName} ${service} endpoint${where}.`,
    )
  })
  const others = OTHER_SERVICES.flatMap((service) => {
    const url = endpointOf(catalog, service, settings)
    return url === undefined ? [] : [[service, urlOf(service, url)]]
  })
  return Object.fromEntries([...found, ...others]) as Endpoints
}

/** Clouds may end an endpoint in the project's id, and Swift's in the account that is named after it. */
function withoutProject(url: string, projectId: string): string {
  const end = [`/${projectId}`, `/AUTH_${projectId}`].find((each) => url.endsWith(each))
  return end === undefined ? url : url.slice(0, -end.length)
}

function endpointOf(
  catalog: Catalog,
  service: CloudService,
  { region, interface: interfaceName }: NestedSettings,
): string | undefined {
  const types = CATALOG_TYPES[service] ?? [service]
  return types
    .flatMap((name) => catalog.filter(({ type }) => type === name))
    .flatMap(({ endpoints }) => endpoints)
    .find(
      (each) => each.interface === interfaceName && (region ?? each.region_id) === each.region_id,
    )?.url
}
