import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { NestedHost } from '../host.ts'
import { type CloudServer, showServer } from './cloud-server.ts'

/**
 * The server of an instance as it is now: the one that its record names, else the oldest that carries its mark. Undefined
 * when there is none.
 */
export async function findServer(
  host: NestedHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<CloudServer | undefined> {
  const known = host.records.get(id)?.serverId ?? host.view.of(id)[0]?.id
  if (known !== undefined) {
    const server = await showServer(host.cloud, known, signal)
    if (server === undefined) host.view.forget(known)
    return server
  }
  await host.view.refresh(signal)
  return host.view.of(id)[0]
}

/** The same; throws `not-found` when there is none. */
export async function getServer(
  host: NestedHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<CloudServer> {
  const server = await findServer(host, id, signal)
  if (server !== undefined) return server
  throw new Failure('not-found', `Instance ${id} does not exist on this host.`)
}
