import { Failure } from '#common/errors.ts'
import type { Session } from '../cloud/session.ts'
import { allHosts } from '../hosts/all-hosts.ts'
import { findHost } from '../hosts/find-host.ts'
import type { Host } from '../hosts/host-listing.ts'
import type { HostOptions } from '../hosts/hosts.ts'

export interface NodeOptions extends HostOptions {
  /** The host whose machines are shown; absent: all hosts with machines. */
  readonly host?: string
}

/** The selected hosts among those with machines. Throws `not-found` when there is none. */
export async function machineHosts(
  session: Session,
  { host, cell }: NodeOptions,
): Promise<readonly Host[]> {
  if (host !== undefined) return [await findHost(session, host, cell)]
  const hosts = await allHosts(session, cell)
  const keeping = hosts.filter(({ capabilities }) => capabilities.includes('nodes'))
  if (keeping.length > 0) return keeping
  throw new Failure(
    'not-found',
    'No host manages machines. Start one: ./weir cell join --driver baremetal, or ./weir up --driver baremetal',
  )
}

/** Names by id, as listings show them. */
export function hostNames(hosts: readonly Host[]): ReadonlyMap<string, string> {
  return new Map(hosts.map(({ id, name }) => [id, name]))
}
