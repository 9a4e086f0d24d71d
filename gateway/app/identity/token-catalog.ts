import type { Caller } from '../request-context.ts'
import type { Interface } from './catalog.ts'
import { catalogEntries } from './catalog-entries.ts'
import type { Identity } from './identity.ts'

/** A service as a token shows it: enabled, with the endpoints that are. */
export interface CatalogService {
  readonly id: string
  readonly type: string
  readonly name: string
  readonly endpoints: readonly {
    readonly id: string
    readonly interface: Interface
    readonly region: string | null
    readonly region_id: string | null
    readonly url: string
  }[]
}

/** The catalog for the holder of the token; services that need a project are left out where the token has none. */
export async function tokenCatalog(
  identity: Identity,
  root: string,
  caller: Pick<Caller, 'userId' | 'projectId'>,
): Promise<readonly CatalogService[]> {
  const { services, endpoints } = await catalogEntries(identity, root)
  const enabled = endpoints.filter((endpoint) => endpoint.enabled)
  return services
    .filter((service) => service.enabled)
    .map(({ id, type, name }) => ({
      id,
      type,
      name,
      endpoints: enabled
        .filter(({ serviceId }) => serviceId === id)
        .flatMap(({ id: endpointId, interface: interfaceName, regionId, url }) => {
          const filled = filledIn(url, caller)
          const region = { region: regionId, region_id: regionId }
          return filled === undefined
            ? []
            : [{ id: endpointId, interface: interfaceName, ...region, url: filled }]
        }),
    }))
}

const PLACE = /[$%]\((\w+)\)s/g

/** Undefined when a value is needed that the token does not have. */
function filledIn(
  url: string,
  { userId, projectId }: Pick<Caller, 'userId' | 'projectId'>,
): string | undefined {
  const values: Readonly<Record<string, string | null>> = {
    user_id: userId,
    project_id: projectId,
    tenant_id: projectId,
  }
  const names = [...url.matchAll(PLACE)].map(([, name]) => name ?? '')
  if (names.some((name) => values[name] == null)) return undefined
  return url.replaceAll(PLACE, (_, name: string) => values[name] ?? '')
}
