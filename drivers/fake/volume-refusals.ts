import { Failure } from '#common/errors.ts'
import type { FakeGuest } from './guest.ts'
import type { VolumeFolder } from './volume-folder.ts'

/** Throws `conflict` for a guest whose memory is kept, which knows its disks. */
export function unsuspended(guest: FakeGuest): FakeGuest {
  if (guest.isSuspended !== true) return guest
  throw new Failure('conflict', 'The volumes of a suspended instance cannot be changed.')
}

/** Throws `not-found` for a store that this host does not reach. */
export async function refuseOtherStore(folder: VolumeFolder, store: string): Promise<void> {
  if (store === (await folder.identity())) return
  throw noStore(store)
}

/** For a store that this host does not reach. */
export function noStore(store: string): Failure {
  return new Failure('not-found', `Store ${store} could not be found on this host.`)
}
