import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { AttachmentSpec, VolumeSwap } from '../volumes.ts'
import { type FakeAttachment, withEvent } from './guest.ts'
import type { FakeHost } from './host.ts'
import type { VolumeFolder } from './volume-folder.ts'
import { refuseOtherStore, unsuspended } from './volume-refusals.ts'

/** Exchanges volumes of guests that run. They have no content that could be copied. */
export function fakeSwap(host: FakeHost, folder: VolumeFolder): VolumeSwap {
  return {
    async copy(id, to, signal) {
      attachmentOf(host, id, to)
      await refuseOtherStore(folder, to.store)
      await host.changeSlowly('copyToVolume', id, signal, () => copy(host, folder, id, to))
    },
    pivot: (id, to, signal) =>
      host.change('pivotVolume', id, signal, () => {
        const had = attachmentOf(host, id, to)
        if (had.id === to.id) return
        if (had.swapsTo?.id !== to.id)
          throw new Failure('conflict', `Volume ${to.id} is not the same as volume ${had.id}.`)
        if (!runs(host, id)) {
          letGo(host, folder, id, had)
          throw notRunning(id)
        }
        folder.close(had.id, had.attachmentId)
        const { isRoot, tag, device } = had
        const kept = { device, ...(tag !== undefined && { tag }), ...(isRoot && { isRoot }) }
        replace(host, id, { ...to, ...kept })
      }),
    cancel: (id, to, signal) =>
      host.change('cancelVolumeSwap', id, signal, () => {
        const had = host.guests
          .find(id)
          ?.volumes?.find(({ attachmentId }) => attachmentId === to.attachmentId)
        if (had === undefined) return
        if (had.id === to.id)
          throw new Failure('conflict', `Instance ${id} has volume ${to.id} already.`)
        letGo(host, folder, id, had)
      }),
  }
}

function copy(host: FakeHost, folder: VolumeFolder, id: InstanceId, to: AttachmentSpec): void {
  const had = attachmentOf(host, id, to)
  if (had.id === to.id) return
  if (had.swapsTo !== undefined && had.swapsTo.id !== to.id) letGo(host, folder, id, had)
  unsuspended(host.guests.get(id))
  if (!runs(host, id)) {
    letGo(host, folder, id, had)
    throw notRunning(id)
  }
  const [bytes, needed] = [folder.get(to.id).bytes, folder.get(had.id).bytes]
  if (bytes < needed)
    throw new Failure(
      'invalid',
      `Volume ${to.id} has ${bytes} bytes, and volume ${had.id} has ${needed}.`,
    )
  folder.open(to.id, to.attachmentId, { instance: id, isShared: to.isShared })
  replace(host, id, { ...withoutSwap(had), swapsTo: to })
}

/** Throws `not-found`. */
function attachmentOf(
  { guests }: FakeHost,
  id: InstanceId,
  { attachmentId }: AttachmentSpec,
): FakeAttachment {
  const found = guests.get(id).volumes?.find((each) => each.attachmentId === attachmentId)
  if (found !== undefined) return found
  throw new Failure('not-found', `Instance ${id} has no attachment ${attachmentId}.`)
}

function letGo(host: FakeHost, folder: VolumeFolder, id: InstanceId, had: FakeAttachment): void {
  if (had.swapsTo === undefined) return
  folder.close(had.swapsTo.id, had.attachmentId)
  replace(host, id, withoutSwap(had))
}

function withoutSwap({ swapsTo: _swap, ...volume }: FakeAttachment): FakeAttachment {
  return volume
}

function replace(host: FakeHost, id: InstanceId, changed: FakeAttachment): void {
  const guest = host.guests.get(id)
  const volumes = guest.volumes?.map((each) =>
    each.attachmentId === changed.attachmentId ? changed : each,
  )
  host.guests.put(
    withEvent(
      { ...guest, ...(volumes && { volumes }) },
      guest.powerState,
      'volume changed for another',
    ),
  )
}

function runs({ guests }: FakeHost, id: InstanceId): boolean {
  return ['running', 'paused'].includes(guests.get(id).powerState)
}

function notRunning(id: InstanceId): Failure {
  return new Failure(
    'conflict',
    `Instance ${id} is not running, and only a guest that runs changes its volume for another.`,
  )
}
