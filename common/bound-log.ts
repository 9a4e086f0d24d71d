import { copyFileSync, fstatSync, ftruncateSync, readlinkSync } from 'node:fs'

const STDOUT = 1
const SIZE_MAX_BYTES = 32 * 2 ** 20
const LOOK_EVERY_MS = 5_000

/** From now on the file that standard output is written to, if it is one, is kept within a size: see `boundLog`. */
export function keepLogBounded(): void {
  if (!fstatSync(STDOUT).isFile()) return
  setInterval(() => boundLog(STDOUT, SIZE_MAX_BYTES), LOOK_EVERY_MS).unref()
}

/**
 * Afterwards the file behind the descriptor, which was opened to append, is empty if it was larger than this, and what
 * was in it is beside it as `….1`, in the place of what was there before: no log takes more than twice its size, and
 * whoever follows it goes on. Where it cannot be copied, a disk being full, it is emptied all the same.
 */
export function boundLog(descriptor: number, sizeMaxBytes: number): void {
  if (fstatSync(descriptor).size <= sizeMaxBytes) return
  const own = `/proc/self/fd/${descriptor}`
  try {
    copyFileSync(own, `${readlinkSync(own)}.1`)
  } catch {
    // What it says next matters more than what it said.
  }
  ftruncateSync(descriptor, 0)
}
