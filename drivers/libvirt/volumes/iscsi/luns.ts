import type { IscsiSession } from './iscsi-session.ts'
import { ScsiError } from './iscsi-session.ts'
import {
  CONTENT_AT,
  encodeBlock,
  HOLDER_AT,
  isZero,
  LABEL_AT,
  type LunHolder,
  type LunLabel,
  parseHolder,
  parseLabel,
} from './lun-label.ts'
import {
  changeBlock,
  hasReservationKeys,
  isDisk,
  readBlocks,
  readCapacity,
  reportLuns,
  writeBlocks,
} from './scsi.ts'

/**
 * So much is looked at on both ends of a LUN: partition tables, file systems, volume managers and software RAIDs all have
 * their marks there.
 */
const EDGE_BYTES = 128 * 1024

/** A LUN that is a disk. */
export interface Lun {
  readonly number: number
  readonly blockBytes: number
  readonly bytes: number
  /** `blank`: nobody has written anything; `foreign`: it is somebody else's, or cannot be read. */
  readonly label: LunLabel | 'blank' | 'foreign'
}

/** A LUN that is Weir's. */
export interface LabelledLun extends Lun {
  readonly label: LunLabel
}

/** The largest volume that the LUN can take, in bytes. */
export function contentBytes({ bytes }: Pick<Lun, 'bytes'>): number {
  return Math.max(bytes - CONTENT_AT, 0)
}

export function isLabelled(lun: Lun): lun is LabelledLun {
  return typeof lun.label === 'object'
}

/** The disks of a target, in order of their numbers. */
export async function readLuns(session: IscsiSession): Promise<readonly Lun[]> {
  const luns: Lun[] = []
  for (const number of await reportLuns(session)) {
    const lun = await readLun(session, number)
    if (lun !== undefined) luns.push(lun)
  }
  return luns
}

async function readLun(session: IscsiSession, number: number): Promise<Lun | undefined> {
  try {
    if (!(await isDisk(session, number))) return undefined
    const size = await readCapacity(session, number)
    if (size.bytes <= CONTENT_AT) return undefined
    return { number, ...size, label: await labelOf(session, { number, ...size }) }
  } catch (error) {
    // Another initiator may have reserved it, and then it is none of Weir's.
    if (!(error instanceof ScsiError)) throw error
    return { number, blockBytes: 0, bytes: 0, label: 'foreign' }
  }
}

type Place = Pick<Lun, 'number' | 'bytes' | 'blockBytes'>

async function labelOf(session: IscsiSession, lun: Place): Promise<Lun['label']> {
  const first = await readAt(session, lun, LABEL_AT, lun.blockBytes)
  const label = parseLabel(first)
  if (label !== undefined) return label
  if (!isZero(first) || (await hasReservationKeys(session, lun.number))) return 'foreign'
  for (const at of [0, lun.bytes - EDGE_BYTES])
    if (!isZero(await readAt(session, lun, at, EDGE_BYTES))) return 'foreign'
  return 'blank'
}

/** Afterwards the LUN has the label, if it still had that with which it was read; false where another host was faster. */
export function relabel(session: IscsiSession, lun: Lun, label: LunLabel): Promise<boolean> {
  const before = isLabelled(lun) ? lun.label : undefined
  return change(session, lun, LABEL_AT, { before, next: label })
}

/** Who has the volume of the LUN; undefined: nobody. */
export async function holderOf(session: IscsiSession, lun: Lun): Promise<LunHolder | undefined> {
  return parseHolder(await readAt(session, lun, HOLDER_AT, lun.blockBytes))
}

/**
 * Afterwards the LUN's volume has the holder, if its label and its holder were these; false where they were not. No guest may
 * have it open.
 */
export async function changeHolder(
  session: IscsiSession,
  lun: LabelledLun,
  { before, next }: Change<LunHolder>,
): Promise<boolean> {
  if (!(await change(session, lun, HOLDER_AT, { before, next }))) return false
  // The LUN may have got another volume in between, of which this is not the holder.
  const label = await readAt(session, lun, LABEL_AT, lun.blockBytes)
  if (label.equals(encodeBlock(lun.label, lun.blockBytes))) return true
  await change(session, lun, HOLDER_AT, { before: next, next: undefined })
  return false
}

/** The same for an attachment that goes to another host: its guest may have the volume open, and nobody else changes this. */
export async function writeHolder(
  session: IscsiSession,
  lun: LabelledLun,
  next: LunHolder | undefined,
): Promise<void> {
  await writeAt(session, lun, HOLDER_AT, encodeBlock(next, lun.blockBytes))
}

interface Change<T> {
  readonly before: T | undefined
  readonly next: T | undefined
}

function change(
  session: IscsiSession,
  { number, blockBytes }: Place,
  at: number,
  { before, next }: Change<LunLabel | LunHolder>,
): Promise<boolean> {
  return changeBlock(session, number, {
    block: at / blockBytes,
    before: encodeBlock(before, blockBytes),
    next: encodeBlock(next, blockBytes),
  })
}

function readAt(
  session: IscsiSession,
  { number, blockBytes }: Place,
  at: number,
  bytes: number,
): Promise<Buffer> {
  const where = { block: at / blockBytes, count: bytes / blockBytes, blockBytes }
  return readBlocks(session, number, where)
}

function writeAt(
  session: IscsiSession,
  { number, blockBytes }: Place,
  at: number,
  out: Buffer,
): Promise<void> {
  return writeBlocks(session, number, { block: at / blockBytes, out, blockBytes })
}
