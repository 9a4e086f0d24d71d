import { Failure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import type { Conductor } from '../conductor/conductor.ts'
import { hostsOfStore } from '../db/stores.ts'
import type { Volume } from './volume.ts'

/**
 * The host through which the volume is changed: the one that made it while that is up, else another that reaches the
 * store. Throws `unavailable` when no host that is up reaches it.
 */
export async function hostOfVolume(
  { db, hosts }: Conductor,
  { hostId, storeId, storeName }: Pick<Volume, 'hostId' | 'storeId' | 'storeName'>,
): Promise<HostId> {
  const isUp = (id: HostId) => {
    const host = hosts.get(id)
    return host !== undefined && hosts.isUp(host)
  }
  if (isUp(hostId)) return hostId
  const other = (await hostsOfStore(db, storeId)).find(isUp)
  if (other === undefined)
    throw new Failure('unavailable', `No host that is up reaches the store ${storeName}.`)
  return other
}
