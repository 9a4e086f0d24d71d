import { Failure, isFailure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import type { DiskTarget } from '../../../qemu-img.ts'
import type { LibvirtHost } from '../../host.ts'
import { volumeCopies } from '../given-disk.ts'
import { tooLarge, type VolumeStore } from '../store.ts'
import type { AttachedVolume } from '../volume-device.ts'
import {
  expect,
  type HolderAt,
  hold,
  refuseHeld,
  refuseHeldElsewhere,
  release,
} from './iscsi-holders.ts'
import type { IscsiStore } from './iscsi-pools.ts'
import { reimageVolume } from './iscsi-reimage.ts'
import {
  growVolume,
  madeLun,
  makeVolume,
  noSnapshot,
  noSnapshots,
  readyLun,
  refuseGrowth,
  removeVolume,
  volumesOn,
  withLuns,
} from './iscsi-volumes.ts'
import type { UsedLun } from './lun-claims.ts'
import { copyFromLun } from './lun-content.ts'
import { contentBytes } from './luns.ts'

/** A store whose volumes are LUNs of an iSCSI target, each of which one volume may have. */
export function iscsiStore(host: LibvirtHost, store: IscsiStore): VolumeStore {
  const { owner, images, keyring } = host
  const work = { store, owner, images, keyring, copies: volumeCopies(host) }
  /** Does the work with the LUN of a volume. */
  const at: At = (id, signal, what) =>
    withLuns(store, signal, (session, luns) =>
      what({ session, lun: readyLun(luns, owner, id), hostId: owner.hostId }),
    )
  /** The same where the content may be half written. */
  const atAny: At = (id, signal, what) =>
    withLuns(store, signal, (session, luns) =>
      what({ session, lun: madeLun(luns, owner, id), hostId: owner.hostId }),
    )
  const admit = (volume: AttachedVolume, signal: AbortSignal, moves = false) =>
    at(volume.id, signal, async (held) => {
      refuseRenumbered(held, volume)
      await hold(held, volume, moves)
    })
  return {
    sourceOf: (id, signal) =>
      atAny(id, signal, async ({ lun }) => ({
        path: `${store.source.target}/${lun.number}`,
        iscsi: { ...store.source, lun: lun.number, bytes: lun.label.use.bytes },
      })),
    sizeOf: (id, signal) => atAny(id, signal, async ({ lun }) => lun.label.use.bytes),
    list: (signal) => withLuns(store, signal, async (_, luns) => volumesOn(luns, owner.cellId)),
    snapshotsOf: async () => [],
    async refuseTooLarge(bytes, signal) {
      const largest = await withLuns(store, signal, async (_, luns) =>
        Math.max(0, ...luns.filter(({ label }) => label !== 'foreign').map(contentBytes)),
      )
      if (bytes > largest) throw tooLarge({ ...store, totalBytes: largest }, bytes)
    },
    refuseGrowth: (id, bytes, signal) =>
      at(id, signal, (held) => refuseGrowth(held, { store, id, bytes })),
    make: (spec, signal) => makeVolume(work, spec, signal),
    remove: (id, signal) => removeVolume(work, id, signal),
    grow: (id, bytes, signal) => growVolume(work, { id, bytes }, signal),
    snapshot: (id, _, signal) =>
      at(id, signal, async () => {
        throw noSnapshots()
      }),
    removeSnapshot: async () => {},
    copyTo: (to, id, signal) => copyTo(store, at, { to, id }, signal),
    reimage: (wanted, signal) => reimageVolume(work, wanted, signal),
    revert: (id, snapshot, signal) =>
      at(id, signal, async () => {
        throw noSnapshot(snapshot)
      }),
    refuseOpen: (id, signal) => atAny(id, signal, (held) => refuseHeld(held, id)),
    admit: (volume, signal) => admit(volume, signal),
    reserve: (volume, signal) => admit(volume, signal),
    expect: (volume, signal) => at(volume.id, signal, (held) => expect(held, volume)),
    follow: (volume, signal) => admit(volume, signal, true),
    async release(volume, signal) {
      await atAny(volume.id, signal, (held) => release(held, volume)).catch((error: unknown) => {
        if (!isFailure(error, 'not-found')) throw error
      })
    },
    fence: (volume, sourceIsOff, signal) =>
      at(volume.id, signal, (held) =>
        sourceIsOff ? hold(held, volume, true) : refuseHeldElsewhere(held, volume.id),
      ),
  }
}

/** Throws `conflict` where the guest's disk names a number that the volume's LUN has not any more: it would open another one. */
function refuseRenumbered({ lun }: HolderAt, { id, iscsi }: AttachedVolume): void {
  if (iscsi === undefined || iscsi.lun === lun.number) return
  throw new Failure(
    'conflict',
    `Volume ${id} was LUN ${iscsi.lun} of its iSCSI target when the server got it, and is LUN ${lun.number} now: give it its number back, or detach and attach the volume.`,
  )
}

type At = <T>(
  id: VolumeId,
  signal: AbortSignal,
  what: (at: HolderAt & { readonly lun: UsedLun }) => Promise<T>,
) => Promise<T>

async function copyTo(
  { login }: IscsiStore,
  at: At,
  { to, id }: { readonly to: DiskTarget; readonly id: VolumeId },
  signal: AbortSignal,
): Promise<void> {
  await at(id, signal, async (held) => {
    await refuseHeld(held, id)
    await copyFromLun(login, held.lun, { to, bytes: held.lun.label.use.bytes }, signal)
  })
}
