import { Failure } from '#common/errors.ts'
import type { HostId, VolumeId } from '#common/ids.ts'
import type { Owner } from '../../../driver.ts'
import { KeyedLock } from '../../../keyed-lock.ts'
import type { IscsiSession } from './iscsi-session.ts'
import { type LunLabel, type LunUse, newLabel } from './lun-label.ts'
import {
  contentBytes,
  isLabelled,
  type LabelledLun,
  type Lun,
  readLuns,
  relabel,
  writeHolder,
} from './luns.ts'

/** Hosts may claim the same LUN at once; one of them gets it. */
const TRIES_MAX = 10

/** Held while a host of this process writes the content of a volume. */
export const writing = new KeyedLock<string>()

export function keyOf({ hostId }: Pick<Owner, 'hostId'>, volume: string): string {
  return `${hostId}/${volume}`
}

/** A LUN that a volume has. */
export interface UsedLun extends LabelledLun {
  readonly label: LunLabel & { readonly use: LunUse }
}

export function isUsed(lun: Lun): lun is UsedLun {
  return isLabelled(lun) && lun.label.use !== undefined
}

/** Whether a volume can get the LUN. */
export function isFree({ label }: Lun): boolean {
  return label === 'blank' || (label !== 'foreign' && label.use === undefined)
}

/** The LUN of a cell's volume, whole or not; undefined: it has none. */
export function lunOf(
  luns: readonly Lun[],
  { cellId }: Pick<Owner, 'cellId'>,
  id: VolumeId,
): UsedLun | undefined {
  return luns
    .filter(isUsed)
    .filter(({ label: { use } }) => use.cell === cellId && use.volume === id)
    .find(({ label: { use } }) => use.state !== 'abandoned')
}

interface Claim {
  readonly store: { readonly id: string; readonly name: string }
  readonly owner: Owner
  readonly id: VolumeId
  readonly bytes: number
}

/**
 * The LUN that is the volume's from now on, which this host is making: the smallest that is free and large enough. What the
 * volume had before, half made, is let go.
 */
export async function claim(
  session: IscsiSession,
  { store, owner, id, bytes }: Claim,
): Promise<UsedLun> {
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const luns = await readLuns(session)
    const half = lunOf(luns, owner, id)
    if (half !== undefined) {
      await letGo(session, half, owner)
      continue
    }
    const free = luns.filter((lun) => isFree(lun) && contentBytes(lun) >= bytes)
    const [lun] = free.toSorted((a, b) => a.bytes - b.bytes || a.number - b.number)
    if (lun === undefined) throw noFreeLun(store.name, luns, bytes)
    const before = isLabelled(lun) ? lun.label : newLabel(store.id)
    const { cellId: cell, hostId: by } = owner
    const label = { ...before, use: { cell, volume: id, bytes, state: 'making', by } as const }
    if (!(await relabel(session, lun, label))) continue
    const claimed = { ...lun, label }
    await writeHolder(session, claimed, undefined)
    return claimed
  }
  throw new Failure('unavailable', 'Other hosts are claiming the LUNs of the store.')
}

/**
 * Afterwards the LUN, which may have anything on it, has no volume. It is free if the host that was writing it is this one,
 * which does not any more, else once that host has seen this: what it still writes could meet another volume.
 */
export async function letGo(
  session: IscsiSession,
  lun: UsedLun,
  { hostId }: Pick<Owner, 'hostId'>,
): Promise<void> {
  const { store, use } = lun.label
  if (use.by === hostId) return mustRelabel(session, lun, newLabel(store))
  await mustRelabel(session, lun, { ...lun.label, use: { ...use, state: 'abandoned' } })
}

/** Afterwards the LUNs are free that this host was writing, does not any more, and others have let go. */
export async function freeAbandoned(
  session: IscsiSession,
  luns: readonly Lun[],
  hostId: HostId,
): Promise<void> {
  for (const lun of luns.filter(isUsed)) {
    const { state, by, volume } = lun.label.use
    if (state === 'abandoned' && by === hostId && !writing.isHeld(keyOf({ hostId }, volume)))
      await relabel(session, lun, newLabel(lun.label.store))
  }
}

/** Throws `unavailable` where another host has changed the label. */
export async function mustRelabel(session: IscsiSession, lun: Lun, label: LunLabel): Promise<void> {
  if (await relabel(session, lun, label)) return
  throw new Failure('unavailable', `LUN ${lun.number} has changed while it was worked on.`)
}

function noFreeLun(name: string, luns: readonly Lun[], bytes: number): Failure {
  const free = luns.filter(isFree).map(contentBytes)
  const has =
    free.length === 0 ? 'no free LUN' : `no free LUN for more than ${Math.max(...free)} bytes`
  return new Failure('no-capacity', 'The store has no free LUN that is large enough.', {
    detail: `storage pool ${name} has ${has}, and ${bytes} bytes are needed`,
  })
}
