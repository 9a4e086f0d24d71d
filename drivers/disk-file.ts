import { createReadStream } from 'node:fs'
import { copyFile, rename, rm, stat } from 'node:fs/promises'
import type { DiskImage } from './driver.ts'

/** The file as a disk's content, which is removed with it unless it has moved. */
export async function diskFile(
  path: string,
  diskFormat: DiskImage['diskFormat'],
): Promise<DiskImage> {
  return {
    diskFormat,
    sizeBytes: (await stat(path)).size,
    content: () => createReadStream(path),
    moveTo: (to) => moveFile(path, to),
    [Symbol.asyncDispose]: () => rm(path, { force: true }),
  }
}

async function moveFile(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    // The two are on different file systems.
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    await copyFile(from, to)
    await rm(from)
  }
}
