import type { HostId } from '#common/ids.ts'
import type { HostUsage } from '../db/hosts.ts'
import type { Host } from './host.ts'

/**
 * The hosts there are, each with its usage and as its newest row says, be that the one just read or the one known.
 * Reads may overlap: the one that began first must not undo what a later one found.
 */
export function hostsAsRead(
  known: ReadonlyMap<HostId, Host>,
  usage: readonly HostUsage[],
  read: readonly Host[],
): Map<HostId, Host> {
  const byId = new Map(read.map((host) => [host.id, host]))
  const hosts = new Map<HostId, Host>()
  for (const { id, provider } of usage) {
    const host = newer(byId.get(id), known.get(id))
    if (host !== undefined) hosts.set(id, { ...host, provider })
  }
  return hosts
}

function newer(read: Host | undefined, known: Host | undefined): Host | undefined {
  if (read === undefined || known === undefined) return read ?? known
  return read.version < known.version ? known : read
}
