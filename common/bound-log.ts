import { closeSync, copyFileSync, fstatSync, ftruncateSync, openSync, readlinkSync } from 'node:fs'

const STDOUT = 1
const SIZE_MAX_BYTES = 32 * 2 ** 20
const CHECK_EVERY_MS = 5_000

/**
 * From now on the file that standard output is written to, if it is one, is kept within a size (see `boundLog`), and so
 * are `others`: of programs that do not do it themselves, and open their logs to append.
 */
export function keepLogBounded(others: readonly string[] = []): void {
  const isFile = fstatSync(STDOUT).isFile()
  if (!isFile && others.length === 0) return
  setInterval(() => {
    if (isFile) boundLog(STDOUT, SIZE_MAX_BYTES)
    for (const file of others) boundLogOf(file, SIZE_MAX_BYTES)
  }, CHECK_EVERY_MS).unref()
}

/** Like `boundLog`, for a file by its name; a file that is missing, or belongs to another user, is not touched. */
export function boundLogOf(file: string, sizeMaxBytes: number): void {
  let log: number
  try {
    log = openSync(file, 'r+')
  } catch {
    return
  }
  try {
    boundLog(log, sizeMaxBytes)
  } finally {
    closeSync(log)
  }
}

/**
 * Afterwards the file behind the descriptor, which was opened to append, is empty if it was larger than this, and its
 * former content is beside it as `….1`, in place of the copy before. A log so takes at most twice its size, and
 * programs that follow the file go on. Where the content cannot be copied, because a disk is full, the file is
 * emptied all the same.
 */
export function boundLog(descriptor: number, sizeMaxBytes: number): void {
  if (fstatSync(descriptor).size <= sizeMaxBytes) return
  const own = `/proc/self/fd/${descriptor}`
  try {
    copyFileSync(own, `${readlinkSync(own)}.1`)
  } catch {
    // New lines matter more than old ones.
  }
  ftruncateSync(descriptor, 0)
}
