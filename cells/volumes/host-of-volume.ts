import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { HostId, InstanceId } from '#common/ids.ts'
import type { Conductor } from '../conductor/conductor.ts'
import { findInstance } from '../db/instances.ts'
import { hostsOfStore } from '../db/stores.ts'
import type { Volume } from './volume.ts'

type Stored = Pick<Volume, 'hostId' | 'storeId' | 'storeName'>

/** The host through which the volume is changed: the one that made it while that is up, else another that reaches the store; undefined while none is up. */
export async function hostUpForVolume(
  { db, hosts }: Conductor,
  { hostId, storeId }: Stored,
): Promise<HostId | undefined> {
  const isUp = (id: HostId) => {
    const host = hosts.get(id)
    return host !== undefined && hosts.isUp(host)
  }
  return isUp(hostId) ? hostId : (await hostsOfStore(db, storeId)).find(isUp)
}

/** The same host. Throws `unavailable` while no host that is up reaches the store. */
export async function hostOfVolume(conductor: Conductor, volume: Stored): Promise<HostId> {
  const host = await hostUpForVolume(conductor, volume)
  if (host !== undefined) return host
  throw new Failure('unavailable', `No host that is up reaches the store ${volume.storeName}.`)
}

/** The host of the server that uses a volume, whose guest alone can be told of a change; undefined: no host has such a server. */
export async function hostOfServer(
  db: Executor,
  serverId: string | undefined,
): Promise<HostId | undefined> {
  if (serverId === undefined) return undefined
  return (await findInstance(db, serverId as InstanceId))?.placed?.hostId
}
