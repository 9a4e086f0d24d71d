import { Failure } from '#common/errors.ts'
import type { NestedHost } from '../host.ts'
import { type CloudServer, isBusy } from './cloud-server.ts'

export interface ServerAct {
  /** The action with its arguments, as it is sent. */
  readonly body: object
  /** Such as `paused`. */
  readonly until: readonly string[]
  readonly microversion?: string
}

/**
 * Afterwards the server has one of the statuses wanted and the cloud has nothing more to do to it. Throws `conflict` when it
 * comes to rest in another.
 */
export async function actOnServer(
  host: NestedHost,
  server: CloudServer,
  { body, until, microversion }: ServerAct,
  signal: AbortSignal,
): Promise<void> {
  const path = `/servers/${server.id}/action`
  await host.cloud.call('compute', 'POST', path, { body, microversion, signal })
  await awaitStatus(host, server.id, until, signal)
}

/** Afterwards the server has one of these statuses and is not busy. Throws as `actOnServer` does. */
export async function awaitStatus(
  host: NestedHost,
  serverId: string,
  statuses: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const server = await host.view.until(serverId, (seen) => !isBusy(seen), signal)
  if (server === undefined)
    throw new Failure('not-found', 'The server no longer exists in the nested cloud.')
  if (statuses.includes(server.status)) return
  throw new Failure('conflict', `The nested cloud left the server ${server.status}.`, {
    ...(server.fault === undefined ? {} : { detail: server.fault.message }),
  })
}
