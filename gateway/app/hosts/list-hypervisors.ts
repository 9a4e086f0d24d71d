import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type HostRecord, listHosts } from '../../db/host-list.ts'
import { type HostIds, hostOf } from './find-hypervisor.ts'

export interface HypervisorListQuery {
  readonly limit?: number
  readonly marker?: string
  readonly hypervisor_hostname_pattern?: string
}

/**
 * One page of hosts, or all whose hypervisor's name has the pattern in it. Throws `invalid` for an unknown marker and
 * for a pattern together with paging, `not-found` for a pattern that finds nothing.
 */
export async function listHypervisors(
  db: Executor,
  query: HypervisorListQuery,
  { limit, ids }: { readonly limit: number; readonly ids: HostIds },
): Promise<readonly HostRecord[]> {
  const { hypervisor_hostname_pattern: pattern, marker } = query
  if (pattern !== undefined) {
    if (marker !== undefined || query.limit !== undefined)
      throw new Failure(
        'invalid',
        'Paginating with the parameter hypervisor_hostname_pattern is not supported.',
      )
    return searchHypervisors(db, pattern)
  }
  return listHosts(db, { after: await serialOf(db, marker, ids), limit })
}

/** Every host, for sums over all of them. */
export function allHypervisors(db: Executor): Promise<readonly HostRecord[]> {
  return listHosts(db)
}

/** Hosts whose hypervisor's name has the text in it. Throws `not-found` when there is none. */
export async function searchHypervisors(
  db: Executor,
  text: string,
): Promise<readonly HostRecord[]> {
  const hosts = await listHosts(db)
  const found = hosts.filter((host) => hypervisorHostname(host).includes(text))
  if (found.length === 0)
    throw new Failure('not-found', `No hypervisor matching '${text}' could be found.`)
  return found
}

/** As the driver says, or the host's own name before it has said anything. */
export function hypervisorHostname({ view }: HostRecord): string {
  return view.inventory?.hypervisor.hostname ?? view.name
}

async function serialOf(db: Executor, marker: string | undefined, ids: HostIds): Promise<number> {
  if (marker === undefined) return 0
  const host = await hostOf(db, marker, ids)
  if (host === undefined) throw new Failure('invalid', `marker [${marker}] not found`)
  return host.serial
}
