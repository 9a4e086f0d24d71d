import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId, NetworkId, PortId } from '#common/ids.ts'
import { type CloudServer, isBusy, showServer } from './compute/cloud-server.ts'
import { findServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'
import type { InstanceRecord } from './records.ts'
import { unmarkVolumes } from './volumes/attach.ts'

/** Afterwards nothing of the instance is left below. A spawn under way is ended first. */
export async function destroy(
  host: NestedHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<void> {
  await host.locks.runDestroy(id, signal, () => removeInstance(host, id, signal))
}

/**
 * The same under a lock that the caller holds. The server goes first: it holds the ports. Copies of images stay for the
 * next boot.
 */
export async function removeInstance(
  host: NestedHost,
  id: InstanceId,
  signal: AbortSignal,
): Promise<void> {
  const server = await findServer(host, id, signal)
  const record = host.records.get(id) ?? (await recordFromPorts(host, server, signal))
  if (server === undefined) refuseUnsettled(host, host.records.get(id))
  for (const { id: serverId } of [...(server === undefined ? [] : [server]), ...host.view.of(id)])
    await removeServer(host, serverId, signal)
  if (server !== undefined) await unmarkVolumes(host, server, signal)
  if (record === undefined) return
  await removeParts(host, id, record, signal)
  await host.records.remove(id)
  if (record.serverId != null) host.view.forget(record.serverId)
}

/** The objects created for an instance. */
type Parts = Pick<InstanceRecord, 'portIds' | 'networkIds' | 'groupIds'> & Partial<InstanceRecord>

/** A request that was not answered may still make its server. */
function refuseUnsettled({ settings }: NestedHost, record: InstanceRecord | undefined): void {
  if (record === undefined || record.sentAt === null || record.serverId !== null) return
  if (Date.now() >= record.sentAt + settings.createSettlesMs) return
  throw new Failure(
    'unavailable',
    'The nested cloud has not answered whether it created the server.',
  )
}

/** Of a server whose record was lost: its ports say by their names what was made for it. */
async function recordFromPorts(
  { networks, groups }: NestedHost,
  server: CloudServer | undefined,
  signal: AbortSignal,
): Promise<Parts | undefined> {
  if (server === undefined) return undefined
  const { portIds, networkIds, groupsBelow } = await networks.madeFor(server.id, signal)
  return { portIds, networkIds, groupIds: await groups.idsOf(groupsBelow, signal) }
}

/** Afterwards the cloud itself answers that there is no such server. */
async function removeServer(host: NestedHost, id: string, signal: AbortSignal): Promise<void> {
  const { cloud, view } = host
  for (;;) {
    // What rests and is still there was refused for the moment.
    const outcome = await ask(() => cloud.call('compute', 'DELETE', `/servers/${id}`, { signal }))
    if (outcome !== 'gone') await view.until(id, (seen) => !isBusy(seen), signal)
    // A list may be older than the delete: servers that are still in it are asked for by id.
    const shown = await showServer(cloud, id, signal)
    if (shown === undefined) break
    if (shown.status === 'SOFT_DELETED') {
      const body = { forceDelete: null }
      await ask(() => cloud.call('compute', 'POST', `/servers/${id}/action`, { body, signal }))
    } else if (shown.status === 'ERROR' && !isBusy(shown))
      throw new Failure('unavailable', 'The nested cloud could not remove the server.', {
        detail: shown.fault?.message ?? 'no fault is shown',
      })
  }
  view.forget(id)
}

async function ask(work: () => Promise<unknown>): Promise<'gone' | 'going' | 'taken'> {
  try {
    await work()
    return 'taken'
  } catch (error) {
    if (isFailure(error, 'not-found')) return 'gone'
    if (isFailure(error, 'conflict')) return 'going'
    throw error
  }
}

async function removeParts(
  host: NestedHost,
  id: InstanceId,
  record: Parts,
  signal: AbortSignal,
): Promise<void> {
  const { floatingIps, networks, groups, keypairs, records } = host
  const isUsed = (by: (other: InstanceRecord) => boolean) => () => records.others(id).some(by)
  for (const portId of record.portIds) await networks.removePort(portId as PortId, signal)
  if (record.portIds.length > 0) await floatingIps.releaseLoose(signal)
  records.leave(id)
  for (const networkId of record.networkIds) {
    const used = isUsed((other) => other.networkIds.includes(networkId))
    await networks.releaseNetwork(networkId as NetworkId, used, signal)
  }
  for (const groupId of record.groupIds) {
    const used = isUsed((other) => other.groupIds.includes(groupId))
    await groups.release(groupId, used, signal)
  }
  const { keypair = null } = record
  if (keypair !== null)
    await keypairs.release(
      keypair,
      isUsed((other) => other.keypair === keypair),
      signal,
    )
}
