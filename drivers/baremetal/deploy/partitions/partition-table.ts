import { open } from 'node:fs/promises'
import { Failure } from '#common/errors.ts'
import { ALIGNMENT_SECTORS, type PartitionTable, SECTOR_BYTES } from './added-partition.ts'
import { gptTable, isGpt } from './gpt.ts'
import { isMbr, mbrTable } from './mbr.ts'

/** More than any table takes at the beginning of a disk. */
const HEAD_BYTES = ALIGNMENT_SECTORS * SECTOR_BYTES

/** The partitions of a raw image. Throws `invalid` for one that has no table of them. */
export async function partitionTable(imagePath: string): Promise<PartitionTable> {
  await using file = await open(imagePath)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
  const head = buffer.subarray(0, bytesRead)
  if (isGpt(head)) return gptTable(head)
  if (isMbr(head)) return mbrTable(head)
  throw new Failure(
    'invalid',
    'The image has no partition table, so a disk has no place for a config drive beside it. Build the server without one, or from another image.',
  )
}
