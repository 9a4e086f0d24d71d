import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { NestedHost } from '../host.ts'
import type { InstanceRecord } from '../records.ts'
import { type CloudServer, isBusy, showServer } from './cloud-server.ts'

/**
 * The server of an instance as it is now: the one that its record names, else the oldest that carries its mark. Undefined
 * when there is none. Throws `unavailable` for one that the cloud says it has just made and does not show.
 */
export async function findServer(
  host: NestedHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<CloudServer | undefined> {
  const known = host.records.get(id)?.serverId ?? host.view.of(id)[0]?.id
  if (known !== undefined) {
    const server = await showServer(host.cloud, known, signal)
    const record = host.records.get(id)
    if (server === undefined) {
      if (record !== undefined) refuseUnseen(host, record)
      if (record?.hasRun === true) host.view.lose(known)
      else host.view.forget(known)
    } else if (record?.hasRun === false) await refuseForeign(host, id, server)
    return server
  }
  await host.view.refresh(signal)
  return host.view.of(id)[0]
}

/** A new server is recognized by its mark, even if the answer to its create request named another id. */
export async function refuseForeign(
  { records, view }: NestedHost,
  id: InstanceId,
  server: CloudServer,
): Promise<void> {
  if (view.instanceOf(server) === id) return
  const record = records.get(id)
  if (record !== undefined) await records.write(id, { ...record, serverId: null })
  throw new Failure(
    'unavailable',
    'The nested cloud named a server other than the one that it created.',
  )
}

/** A cloud of many parts may not know everywhere yet what it has answered. */
function refuseUnseen({ settings, view }: NestedHost, record: InstanceRecord): void {
  const { hasRun, sentAt, serverId } = record
  const wasSeen = hasRun || serverId === null || view.get(serverId) !== undefined
  if (wasSeen || Date.now() >= (sentAt ?? 0) + settings.createSettlesMs) return
  throw new Failure('unavailable', 'The nested cloud does not show the server that it has created.')
}

/** The same server; throws `not-found` when there is none. */
export async function getServer(
  host: NestedHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<CloudServer> {
  const server = await findServer(host, id, signal)
  if (server !== undefined) return server
  throw new Failure('not-found', `Instance ${id} does not exist on this host.`)
}

/** The server at rest: what was begun before, such as by a request whose answer was lost, is over. Throws as `getServer`. */
export async function idleServer(
  host: NestedHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<CloudServer> {
  const server = await getServer(host, id, signal)
  if (!isBusy(server)) return server
  const rested = await host.view.until(server.id, (seen) => !isBusy(seen), signal)
  return rested ?? getServer(host, id, signal)
}
