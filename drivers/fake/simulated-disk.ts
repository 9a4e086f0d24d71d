import { writeFile } from 'node:fs/promises'
import type { DiskImage } from '../driver.ts'

const SECTOR = 512

/** A raw disk that holds this text. */
export function simulatedDisk(text: string): DiskImage {
  const disk = Buffer.alloc(SECTOR)
  disk.write(text)
  return {
    diskFormat: 'raw',
    sizeBytes: disk.length,
    async *content() {
      yield disk
    },
    moveTo: (to) => writeFile(to, disk),
    [Symbol.asyncDispose]: async () => {},
  }
}
