import { Failure } from '#common/errors.ts'
import type { DiskPatch } from '../../netboot/tasks.ts'

export const SECTOR_BYTES = 512
/** Where partitions begin: on a whole MiB. */
export const ALIGNMENT_SECTORS = 2_048

/** A new partition, with the changes to the partition table. */
export interface AddedPartition {
  readonly offsetBytes: number
  readonly patches: readonly DiskPatch[]
}

export interface PartitionTable {
  /** One more partition at the end of a disk of this size. Throws `invalid` if there is no room for it. */
  add(diskSectors: number, sectors: number): AddedPartition
}

/** The last place on a disk, before `end`, where so many sectors fit. Throws `invalid` when partitions are there. */
export function lastPlace(end: number, sectors: number, used: number): number {
  const start = Math.floor((end - sectors) / ALIGNMENT_SECTORS) * ALIGNMENT_SECTORS
  if (start >= used && start > 0) return start
  throw new Failure('invalid', 'The image leaves no room on the disk for a config drive.')
}

export function noPlaceLeft(): Failure {
  return new Failure('invalid', 'The image’s partition table has no place for a config drive.')
}
