import type { DiskPatch } from '../../netboot/tasks.ts'
import { lastPlace, noPlaceLeft, type PartitionTable, SECTOR_BYTES } from './added-partition.ts'

const ENTRIES_AT = 446
const ENTRY_BYTES = 16
const ENTRIES = 4
const SIGNATURE_AT = 510
const SIGNATURE = 0xaa55
const ACTIVE = 0x80
const LINUX = 0x83
/** The table counts sectors in 32 bits. */
const SECTORS_MAX = 2 ** 32 - 1
/** For what has no address in cylinders any more. */
const NO_CYLINDERS = Buffer.from([0xfe, 0xff, 0xff])

/** True for a boot sector with a table of four partitions, used or not, where other boot sectors have code. */
export function isMbr(head: Buffer): boolean {
  if (head.length < SECTOR_BYTES || head.readUInt16LE(SIGNATURE_AT) !== SIGNATURE) return false
  return entriesOf(head).every((entry) => entry[0] === 0 || entry[0] === ACTIVE)
}

export function mbrTable(head: Buffer): PartitionTable {
  return {
    add(diskSectors, sectors) {
      const sector = Buffer.from(head.subarray(0, SECTOR_BYTES))
      const entries = entriesOf(sector)
      const free = entries.find((entry) => typeOf(entry) === 0)
      if (free === undefined) throw noPlaceLeft()
      const used = entries.filter((entry) => typeOf(entry) !== 0).map(endOf)
      const start = lastPlace(Math.min(diskSectors, SECTORS_MAX), sectors, Math.max(1, ...used))
      free.set([0, ...NO_CYLINDERS, LINUX, ...NO_CYLINDERS])
      free.writeUInt32LE(start, 8)
      free.writeUInt32LE(sectors, 12)
      const patch: DiskPatch = { offsetBytes: 0, content: sector }
      return { offsetBytes: start * SECTOR_BYTES, patches: [patch] }
    },
  }
}

function entriesOf(sector: Buffer): readonly Buffer[] {
  return Array.from({ length: ENTRIES }, (_, nth) => {
    const at = ENTRIES_AT + nth * ENTRY_BYTES
    return sector.subarray(at, at + ENTRY_BYTES)
  })
}

function typeOf(entry: Buffer): number {
  return entry.readUInt8(4)
}

function endOf(entry: Buffer): number {
  return entry.readUInt32LE(8) + entry.readUInt32LE(12)
}
