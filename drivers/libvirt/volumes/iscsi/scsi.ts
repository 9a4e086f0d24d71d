import { type IscsiSession, ScsiError, SENSE } from './iscsi-session.ts'

// Commands of SCSI (SPC-4, SBC-3), as few as the labels of LUNs need.

const INQUIRY_BYTES = 96
const LIST_BYTES = 64 * 1024
const KEYS_BYTES = 1024
const DISK = 0

/** The numbers of the target's LUNs. */
export async function reportLuns(session: IscsiSession): Promise<readonly number[]> {
  const cdb = Buffer.alloc(12)
  cdb[0] = 0xa0
  cdb.writeUInt32BE(LIST_BYTES, 6)
  const data = await session.do({ lun: 0, cdb, inBytes: LIST_BYTES })
  const end = Math.min(8 + data.readUInt32BE(0), data.length)
  const found: number[] = []
  for (let at = 8; at + 8 <= end; at += 8) {
    const word = data.readUInt16BE(at)
    // The short form and the flat one; no target of iSCSI has its LUNs behind others.
    if (word >> 14 === 0) found.push(word & 0xff)
    else if (word >> 14 === 1) found.push(word & 0x3fff)
  }
  return found.toSorted((a, b) => a - b)
}

/** Whether the LUN is a disk that is there. */
export async function isDisk(session: IscsiSession, lun: number): Promise<boolean> {
  const cdb = Buffer.alloc(6)
  cdb[0] = 0x12
  cdb[4] = INQUIRY_BYTES
  const data = await session.do({ lun, cdb, inBytes: INQUIRY_BYTES })
  return data[0] === DISK
}

export interface Capacity {
  readonly bytes: number
  readonly blockBytes: number
}

export async function readCapacity(session: IscsiSession, lun: number): Promise<Capacity> {
  const cdb = Buffer.alloc(16)
  cdb[0] = 0x9e
  cdb[1] = 0x10
  cdb.writeUInt32BE(32, 10)
  const data = await session.do({ lun, cdb, inBytes: 32 })
  const blockBytes = data.readUInt32BE(8)
  return { bytes: (Number(data.readBigUInt64BE(0)) + 1) * blockBytes, blockBytes }
}

/** `block` and `count` are in blocks of the LUN. */
export async function readBlocks(
  session: IscsiSession,
  lun: number,
  {
    block,
    count,
    blockBytes,
  }: { readonly block: number; readonly count: number; readonly blockBytes: number },
): Promise<Buffer> {
  const cdb = Buffer.alloc(16)
  cdb[0] = 0x88
  cdb.writeBigUInt64BE(BigInt(block), 2)
  cdb.writeUInt32BE(count, 10)
  return session.do({ lun, cdb, inBytes: count * blockBytes })
}

/** Afterwards the bytes, a whole number of blocks, are on the LUN, also if it loses its power. */
export async function writeBlocks(
  session: IscsiSession,
  lun: number,
  {
    block,
    out,
    blockBytes,
  }: { readonly block: number; readonly out: Buffer; readonly blockBytes: number },
): Promise<void> {
  const cdb = Buffer.alloc(16)
  cdb[0] = 0x8a
  cdb.writeBigUInt64BE(BigInt(block), 2)
  cdb.writeUInt32BE(out.length / blockBytes, 10)
  await session.do({ lun, cdb, out })
  await synchronize(session, lun)
}

async function synchronize(session: IscsiSession, lun: number): Promise<void> {
  const cdb = Buffer.alloc(10)
  cdb[0] = 0x35
  try {
    await session.do({ lun, cdb })
  } catch (error) {
    // A LUN without a cache may not know the command.
    if (!(error instanceof ScsiError && error.sense === SENSE.illegalRequest)) throw error
  }
}

interface BlockChange {
  readonly block: number
  readonly before: Buffer
  readonly next: Buffer
}

/**
 * Afterwards the block is `next`, if it was `before`, in one step for all initiators; false where it was not. A target that
 * does not know how to compare is reserved for that moment: guests must not have the LUN open.
 */
export async function changeBlock(
  session: IscsiSession,
  lun: number,
  { block, before, next }: BlockChange,
): Promise<boolean> {
  const isSame = async () => {
    const blockBytes = before.length
    return (await readBlocks(session, lun, { block, count: 1, blockBytes })).equals(before)
  }
  // Another initiator may be at work on a LUN that has changed: it is not to be reserved.
  if (!(await isSame())) return false
  const isChanged = await compareAndWrite(session, lun, { block, before, next })
  if (isChanged !== undefined) return isChanged
  for (;;) {
    const done = await exclusively(session, lun, async () => {
      if (!(await isSame())) return false
      await writeBlocks(session, lun, { block, out: next, blockBytes: next.length })
      return true
    })
    if (done !== undefined) return done
    // Who was faster may have a program at work on the LUN as soon as it is not reserved any more.
    if (!(await isSame())) return false
  }
}

/** Undefined where the target does not know the command. */
async function compareAndWrite(
  session: IscsiSession,
  lun: number,
  { block, before, next }: BlockChange,
): Promise<boolean | undefined> {
  const cdb = Buffer.alloc(16)
  cdb[0] = 0x89
  cdb.writeBigUInt64BE(BigInt(block), 2)
  cdb[13] = 1
  try {
    await session.do({ lun, cdb, out: Buffer.concat([before, next]) })
  } catch (error) {
    if (!(error instanceof ScsiError)) throw error
    if (error.sense === SENSE.miscompare) return false
    if (error.sense === SENSE.illegalRequest) return undefined
    throw error
  }
  await synchronize(session, lun)
  return true
}

/**
 * Does the work while no other initiator can read or write the LUN, not even a guest: its commands would fail. The target
 * ends this by itself when the session ends. Undefined where another initiator does so.
 */
async function exclusively<T>(
  session: IscsiSession,
  lun: number,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    await session.do({ lun, cdb: Buffer.from([0x16, 0, 0, 0, 0, 0]), isImpatient: true })
  } catch (error) {
    if (error instanceof ScsiError && error.isReserved) return undefined
    throw error
  }
  try {
    return await work()
  } finally {
    await session.do({ lun, cdb: Buffer.from([0x17, 0, 0, 0, 0, 0]) })
  }
}

/** Whether an initiator has registered for persistent reservations of the LUN, as clusters do. */
export async function hasReservationKeys(session: IscsiSession, lun: number): Promise<boolean> {
  const cdb = Buffer.alloc(10)
  cdb[0] = 0x5e
  cdb.writeUInt16BE(KEYS_BYTES, 7)
  try {
    const data = await session.do({ lun, cdb, inBytes: KEYS_BYTES })
    return data.readUInt32BE(4) > 0
  } catch (error) {
    // A LUN that knows no such reservations has none.
    if (error instanceof ScsiError && error.sense === SENSE.illegalRequest) return false
    throw error
  }
}
