import { randomUUID } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { writeConfigDrive } from '../../config-drive.ts'
import type { DiskContent, DiskPatch } from '../netboot/tasks.ts'
import { ALIGNMENT_SECTORS, SECTOR_BYTES } from './partitions/added-partition.ts'
import { partitionTable } from './partitions/partition-table.ts'

type Files = Readonly<Record<string, Uint8Array>>

/**
 * The bytes that add a config drive as the last partition to a disk of this size, which begins with the image: guests
 * find it by its label. Throws `invalid` for an image that leaves no room for it.
 */
export async function configPartition(
  image: DiskContent,
  files: Files,
  diskBytes: number,
  signal: AbortSignal,
): Promise<readonly DiskPatch[]> {
  const table = await partitionTable(image.path)
  const content = await driveContent(image.path, files, signal)
  const wholeMibs = Math.ceil(content.length / SECTOR_BYTES / ALIGNMENT_SECTORS)
  const diskSectors = Math.floor(diskBytes / SECTOR_BYTES)
  const { offsetBytes, patches } = table.add(diskSectors, wholeMibs * ALIGNMENT_SECTORS)
  return [...patches, { offsetBytes, content }]
}

/** Made beside the image, under a name that the cache drops when it is opened again. */
async function driveContent(beside: string, files: Files, signal: AbortSignal): Promise<Buffer> {
  const path = `${beside}.part-${randomUUID()}`
  try {
    await writeConfigDrive(path, files, signal)
    return await readFile(path)
  } finally {
    await rm(path, { force: true })
  }
}
