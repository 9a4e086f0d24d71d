import { type Static, Type } from 'typebox'
import { Failure } from '#common/errors.ts'
import { withoutTrailing } from '#common/without-trailing.ts'
import { Nullable } from '#openapi/wire/scalars.ts'
import type { NestedSettings } from '../settings.ts'
import { checkCloudUrl } from './check-address.ts'

const NEEDED_SERVICES = ['compute', 'image', 'network'] as const
/** What only a Weir has is last. */
export type CloudService = (typeof NEEDED_SERVICES)[number] | 'federation'
export type Endpoints = Readonly<Record<(typeof NEEDED_SERVICES)[number], URL>> & {
  readonly federation?: URL
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
  federation: '/v1',
}

/** Where each service is, without a trailing slash. Throws `unavailable` for one that the catalog lacks and is needed. */
export function endpointsOf(
  catalog: Catalog,
  projectId: string,
  settings: NestedSettings,
): Endpoints {
  const urlOf = (service: CloudService, url: string) => {
    const base = withoutProject(withoutTrailing(url, '/'), projectId)
    const path = VERSION_PATHS[service]
    const whole = base.endsWith(path) ? base : `${base}${path}`
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
  const federation = endpointOf(catalog, 'federation', settings)
  return {
    ...(Object.fromEntries(found) as Endpoints),
    ...(federation === undefined ? {} : { federation: urlOf('federation', federation) }),
  }
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
  return catalog
    .filter(({ type }) => type === service)
    .flatMap(({ endpoints }) => endpoints)
    .find(
      (each) => each.interface === interfaceName && (region ?? each.region_id) === each.region_id,
    )?.url
}
