import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { Failure } from '#common/errors.ts'
import { lastPlace, noPlaceLeft, type PartitionTable, SECTOR_BYTES } from './added-partition.ts'

/** UEFI 2.10, 5.3.2: offsets in the header. */
const HEADER = {
  size: 12,
  crc: 16,
  ownSector: 24,
  otherSector: 32,
  lastUsable: 48,
  entriesSector: 72,
  entries: 80,
  entryBytes: 84,
  entriesCrc: 88,
} as const
/** And in a partition's entry. */
const ENTRY = { type: 0, id: 16, first: 32, last: 40, name: 56 } as const
const SIGNATURE = 'EFI PART'
const HEADER_BYTES_MIN = 92
const ENTRY_BYTES_MIN = 128
const ID_BYTES = 16
/** Linux file system data, 0FC63DAF-8483-4772-8E79-3D69D8477DE4. */
const LINUX = Buffer.from('af3dc60f838472478e793d69d8477de4', 'hex')
const NAME = 'config-2'
/** Of the entry of the boot sector that keeps those off who know no GPT. */
const PROTECTIVE_SECTORS_AT = 446 + 12
const PROTECTIVE_SECTORS_MAX = 0xffff_ffff

export function isGpt(head: Buffer): boolean {
  const at = SECTOR_BYTES
  return head.length > 2 * at && head.toString('latin1', at, at + SIGNATURE.length) === SIGNATURE
}

/** A table whose second copy moves to the end of the disk. */
export function gptTable(head: Buffer): PartitionTable {
  const header = head.subarray(SECTOR_BYTES, 2 * SECTOR_BYTES)
  const [count, bytes] = [
    header.readUInt32LE(HEADER.entries),
    header.readUInt32LE(HEADER.entryBytes),
  ]
  const entriesAt = Number(header.readBigUInt64LE(HEADER.entriesSector)) * SECTOR_BYTES
  const entriesSectors = Math.ceil((count * bytes) / SECTOR_BYTES)
  const size = header.readUInt32LE(HEADER.size)
  const isSane = size >= HEADER_BYTES_MIN && size <= SECTOR_BYTES && bytes >= ENTRY_BYTES_MIN
  if (!isSane || entriesAt + entriesSectors * SECTOR_BYTES > head.length)
    throw new Failure('invalid', 'The image’s partition table is damaged.')
  return {
    add(diskSectors, sectors) {
      const entries = Buffer.from(
        head.subarray(entriesAt, entriesAt + entriesSectors * SECTOR_BYTES),
      )
      const last = diskSectors - entriesSectors - 2
      const start = addEntry(entries, { count, bytes }, { last, sectors })
      const copies = { entries: entries.subarray(0, count * bytes), last }
      const first = headerOf(header, copies, { own: 1, other: diskSectors - 1 })
      const second = headerOf(header, copies, { own: diskSectors - 1, other: 1, entries: last + 1 })
      return {
        offsetBytes: start * SECTOR_BYTES,
        patches: [
          { offsetBytes: 0, content: Buffer.concat([protective(head, diskSectors), first]) },
          { offsetBytes: entriesAt, content: entries },
          { offsetBytes: (last + 1) * SECTOR_BYTES, content: Buffer.concat([entries, second]) },
        ],
      }
    },
  }
}

/** Afterwards the entries have one more partition, up to `last`. Returned is where it starts. */
function addEntry(
  entries: Buffer,
  { count, bytes }: { readonly count: number; readonly bytes: number },
  { last, sectors }: { readonly last: number; readonly sectors: number },
): number {
  const all = Array.from({ length: count }, (_, n) => entries.subarray(n * bytes, (n + 1) * bytes))
  const isUsed = (entry: Buffer) => entry.subarray(0, ID_BYTES).some((byte) => byte !== 0)
  const free = all.find((entry) => !isUsed(entry))
  if (free === undefined) throw noPlaceLeft()
  const ends = all.filter(isUsed).map((entry) => Number(entry.readBigUInt64LE(ENTRY.last)) + 1)
  const start = lastPlace(last + 1, sectors, Math.max(1, ...ends))
  free.fill(0)
  LINUX.copy(free, ENTRY.type)
  randomBytes(ID_BYTES).copy(free, ENTRY.id)
  free.writeBigUInt64LE(BigInt(start), ENTRY.first)
  free.writeBigUInt64LE(BigInt(start + sectors - 1), ENTRY.last)
  free.write(NAME, ENTRY.name, 'utf16le')
  return start
}

/** `at.entries` is absent for the copy whose entries stay where they are. */
function headerOf(
  from: Buffer,
  { entries, last }: { readonly entries: Buffer; readonly last: number },
  at: { readonly own: number; readonly other: number; readonly entries?: number },
): Buffer {
  const header = Buffer.from(from)
  header.writeBigUInt64LE(BigInt(at.own), HEADER.ownSector)
  header.writeBigUInt64LE(BigInt(at.other), HEADER.otherSector)
  header.writeBigUInt64LE(BigInt(last), HEADER.lastUsable)
  if (at.entries !== undefined) header.writeBigUInt64LE(BigInt(at.entries), HEADER.entriesSector)
  header.writeUInt32LE(crc32(entries), HEADER.entriesCrc)
  header.writeUInt32LE(0, HEADER.crc)
  header.writeUInt32LE(crc32(header.subarray(0, header.readUInt32LE(HEADER.size))), HEADER.crc)
  return header
}

function protective(head: Buffer, diskSectors: number): Buffer {
  const sector = Buffer.from(head.subarray(0, SECTOR_BYTES))
  sector.writeUInt32LE(Math.min(diskSectors - 1, PROTECTIVE_SECTORS_MAX), PROTECTIVE_SECTORS_AT)
  return sector
}
