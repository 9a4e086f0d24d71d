import type { Executor } from '#common/db/database.ts'
import { type HostRecord, listHosts } from '../../db/host-list.ts'
import { COMPUTE_BINARY } from './set-service.ts'

/** The services of hosts that fit; each host has one. */
export async function listServices(
  db: Executor,
  { host, binary }: { readonly host?: string; readonly binary?: string },
): Promise<readonly HostRecord[]> {
  if (binary !== undefined && binary !== COMPUTE_BINARY) return []
  const hosts = await listHosts(db)
  return host === undefined ? hosts : hosts.filter(({ view }) => view.name === host)
}
