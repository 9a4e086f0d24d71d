import { Failure } from '#common/errors.ts'
import { type CellId, isUuid, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import type { Owner } from '../../../driver.ts'
import type { ImageCache } from '../../../image-cache.ts'
import type { Keyring } from '../../../keyring.ts'
import type { VolumeCopies } from '../../../volume-copies.ts'
import type { VolumeReport, VolumeSpec } from '../../../volumes.ts'
import { withDisk } from '../encryption/luks-file.ts'
import { type GivenDisk, givenDisk } from '../given-disk.ts'
import { inSectors } from '../store.ts'
import { closeForGood, type HolderAt, refuseHeld } from './iscsi-holders.ts'
import type { IscsiStore } from './iscsi-pools.ts'
import { IscsiSession } from './iscsi-session.ts'
import {
  claim,
  isUsed,
  keyOf,
  letGo,
  lunOf,
  mustRelabel,
  type UsedLun,
  writing,
} from './lun-claims.ts'
import { fillFromDisk, fillFromLun, wipe } from './lun-content.ts'
import { type LunUse, newLabel } from './lun-label.ts'
import { changeHolder, contentBytes, holderOf, type Lun, readLuns, relabel } from './luns.ts'

export interface IscsiWork {
  readonly store: IscsiStore
  readonly owner: Owner
  readonly images: ImageCache
  readonly keyring: Keyring
  readonly copies: VolumeCopies
}

/** Does the work in a session with the target, and with its LUNs as they are. */
export async function withLuns<T>(
  { login }: Pick<IscsiStore, 'login'>,
  signal: AbortSignal,
  work: (session: IscsiSession, luns: readonly Lun[]) => Promise<T>,
): Promise<T> {
  using session = await IscsiSession.open(login, signal)
  return await work(session, await readLuns(session))
}

/** The LUN of a volume that was whole once, and may be half written now. Throws `not-found`. */
export function madeLun(luns: readonly Lun[], owner: Owner, id: VolumeId): UsedLun {
  const lun = lunOf(luns, owner, id)
  if (lun !== undefined && isMade(lun)) return lun
  throw new Failure('not-found', `Volume ${id} could not be found in its store.`)
}

function isMade({ label: { use } }: UsedLun): boolean {
  return use.state === 'ready' || use.state === 'reimaging'
}

/** The LUN of a volume that is whole. Throws `not-found`, and `conflict` for one whose content is half written. */
export function readyLun(luns: readonly Lun[], owner: Owner, id: VolumeId): UsedLun {
  const lun = madeLun(luns, owner, id)
  if (lun.label.use.state === 'ready') return lun
  throw new Failure(
    'conflict',
    `The content of volume ${id} is half written, because an image was being written into it: rebuild its server again, or re-image the volume.`,
  )
}

/** The volumes of the cell that are whole. */
export function volumesOn(luns: readonly Lun[], cellId: CellId): readonly VolumeReport[] {
  return luns
    .filter(isUsed)
    .filter(isMade)
    .map(({ label }) => label.use)
    .filter(({ cell, volume }) => cell === cellId && isUuid(volume))
    .map(({ volume, bytes }) => ({ id: volume as VolumeId, bytes, snapshots: [] }))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

/**
 * Afterwards the volume, which was not there, has the smallest free LUN that is large enough, and its content. Throws
 * `no-capacity` where there is none. After a failure the LUN is free again.
 */
export async function makeVolume(
  work: IscsiWork,
  spec: VolumeSpec,
  signal: AbortSignal,
): Promise<void> {
  const { store, owner, images, copies } = work
  const { id, from } = spec
  if (spec.encryption !== undefined)
    throw new Failure('unsupported', 'Volumes on iSCSI LUNs are not encrypted.')
  const file = await givenDisk({ images, copies }, spec, signal)
  const make = async (session: IscsiSession, luns: readonly Lun[]) => {
    const source =
      from !== undefined && 'volume' in from ? readyLun(luns, owner, from.volume) : undefined
    if (from !== undefined && 'snapshot' in from) throw noSnapshot(from.snapshot)
    if (source !== undefined)
      await refuseHeld({ session, lun: source, ...owner }, source.label.use.volume as VolumeId)
    const sourceBytes = source?.label.use.bytes ?? 0
    const bytes = inSectors(Math.max(spec.bytes, sourceBytes, file?.bytes ?? 0))
    const lun = await claim(session, { store, owner, id, bytes })
    try {
      const { login } = store
      const wiped = contentBytes(lun)
      await wipe(login, lun, { from: lun.label.wiped, to: wiped }, signal)
      if (file !== undefined) await fillFrom(work, lun, { file, bytes }, signal)
      if (source !== undefined)
        await fillFromLun(login, lun, { from: source, bytes: sourceBytes }, signal)
      const { by: _, ...use } = lun.label.use
      await mustRelabel(session, lun, { ...lun.label, wiped, use: { ...use, state: 'ready' } })
    } catch (error) {
      await giveBack(store, owner, lun)
      throw error
    }
  }
  await writing.run(keyOf(owner, id), signal, () => withLuns(store, signal, make))
}

/** Afterwards the LUN's content, which is zeros, is that of the file, in the clear. */
async function fillFrom(
  { store: { login }, keyring }: IscsiWork,
  lun: UsedLun,
  { file, bytes }: { readonly file: GivenDisk; readonly bytes: number },
  signal: AbortSignal,
): Promise<void> {
  const { keyOf: sealedBy, ...node } = file.disk
  if (sealedBy === undefined) return fillFromDisk(login, lun, { disk: file, bytes }, signal)
  await withDisk({ ...node, key: keyring.keyOf(sealedBy) }, 'from', (disk) =>
    fillFromDisk(login, lun, { disk, bytes }, signal),
  )
}

const GIVE_BACK_MS = 30_000

/** The caller's signal may have ended the work, and its session with it. What fails here is done when the volume is asked for again. */
async function giveBack(
  store: IscsiStore,
  owner: Owner,
  { number, label }: UsedLun,
): Promise<void> {
  await withLuns(store, AbortSignal.timeout(GIVE_BACK_MS), async (session, luns) => {
    const lun = luns.filter(isUsed).find((each) => each.number === number)
    if (lun?.label.use.by === owner.hostId && lun.label.use.volume === label.use.volume)
      await relabel(session, lun, newLabel(label.store))
  }).catch(() => undefined)
}

/**
 * Afterwards the cell has nothing of the volume, and its LUN is empty and free; if another host may be writing it, only once
 * that has seen it. Throws `conflict` while a guest has it.
 */
export async function removeVolume(
  { store, owner }: Pick<IscsiWork, 'store' | 'owner'>,
  id: VolumeId,
  signal: AbortSignal,
): Promise<void> {
  const remove = async (session: IscsiSession, luns: readonly Lun[]) => {
    const lun = lunOf(luns, owner, id)
    if (lun === undefined) return
    const { state, by } = lun.label.use
    if (state === 'making' || (by !== undefined && by !== owner.hostId))
      return letGo(session, lun, owner)
    await closeForGood({ session, lun, ...owner }, id)
    const use: LunUse = { ...lun.label.use, state: 'leaving', by: owner.hostId }
    const leaving = { ...lun, label: { ...lun.label, use } }
    await mustRelabel(session, lun, leaving.label)
    await wipe(store.login, lun, { from: 0, to: use.bytes }, signal)
    const free = { ...newLabel(lun.label.store), wiped: lun.label.wiped }
    await mustRelabel(session, leaving, free)
    const before = await holderOf(session, lun)
    if (before?.attachment === undefined)
      await changeHolder(session, { ...lun, label: free }, { before, next: undefined })
  }
  await writing.run(keyOf(owner, id), signal, () => withLuns(store, signal, remove))
}

/** Afterwards the volume has this size. Throws `conflict` while a guest has it. */
export async function growVolume(
  { store, owner }: Pick<IscsiWork, 'store' | 'owner'>,
  { id, bytes }: { readonly id: VolumeId; readonly bytes: number },
  signal: AbortSignal,
): Promise<void> {
  await withLuns(store, signal, async (session, luns) => {
    const lun = readyLun(luns, owner, id)
    await refuseGrowth({ session, lun, ...owner }, { store, id, bytes })
    await mustRelabel(session, lun, { ...lun.label, use: { ...lun.label.use, bytes } })
  })
}

/**
 * Throws `no-capacity` for more than the LUN had when the volume was made, because nothing behind that was emptied, and
 * `conflict` while a guest has it, which would not see the new size.
 */
export async function refuseGrowth(
  at: HolderAt & { readonly lun: UsedLun },
  {
    store,
    id,
    bytes,
  }: { readonly store: IscsiStore; readonly id: VolumeId; readonly bytes: number },
): Promise<void> {
  const { number, label } = at.lun
  if (bytes > label.wiped)
    throw new Failure('no-capacity', 'The LUN of the volume is too small.', {
      detail: `LUN ${number} of storage pool ${store.name} has ${label.wiped} bytes for the volume, and ${bytes} are needed`,
    })
  await refuseHeld(at, id)
}

/** For a snapshot of a volume that is there: LUNs never have any. */
export function noSnapshot(id: VolumeSnapshotId): Failure {
  return new Failure('not-found', `Snapshot ${id} could not be found in its store.`)
}

export function noSnapshots(): Failure {
  return new Failure(
    'unsupported',
    'Volumes on iSCSI LUNs have no snapshots: the target is not asked to make any.',
  )
}
