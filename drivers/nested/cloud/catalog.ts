import { Failure } from '#common/errors.ts'
import type { NestedSettings } from '../settings.ts'
import { checkCloudUrl } from './check-address.ts'

export const CLOUD_SERVICES = ['compute', 'image', 'network'] as const
export type CloudService = (typeof CLOUD_SERVICES)[number]

/** Of Keystone's catalog, what the driver reads. */
export type Catalog = readonly {
  readonly type: string
  readonly endpoints: readonly {
    readonly interface: string
    readonly region_id?: string | null
    readonly url: string
  }[]
}[]

/** What is below each service's endpoint, whether or not the catalog's URL has it already. */
const VERSION_PATHS: Readonly<Record<CloudService, string>> = {
  compute: '',
  image: '/v2',
  network: '/v2.0',
}

/** Where each service is, without a trailing slash. Throws `unavailable` for one that the catalog lacks. */
export function endpointsOf(
  catalog: Catalog,
  projectId: string,
  settings: NestedSettings,
): Readonly<Record<CloudService, URL>> {
  const found = CLOUD_SERVICES.map((service) => {
    const url = endpointOf(catalog, service, settings)
    const base = url.replace(/\/+$/, '').replace(new RegExp(`/(AUTH_)?${projectId}$`), '')
    const path = VERSION_PATHS[service]
    const whole = base.endsWith(path) ? base : `${base}${path}`
    return [service, checkCloudUrl(`The catalog's ${service} endpoint`, whole, settings)]
  })
  return Object.fromEntries(found) as Readonly<Record<CloudService, URL>>
}

function endpointOf(
  catalog: Catalog,
  service: CloudService,
  { region, interface: face }: NestedSettings,
): string {
  const endpoint = catalog
    .filter(({ type }) => type === service)
    .flatMap(({ endpoints }) => endpoints)
    .find((each) => each.interface === face && (region ?? each.region_id) === each.region_id)
  if (endpoint !== undefined) return endpoint.url
  const where = region === undefined ? '' : ` in region ${region}`
  throw new Failure('unavailable', `The cloud below has no ${face} ${service} endpoint${where}.`)
}
