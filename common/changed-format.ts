const MARK = '+changes'

/**
 * The format of a disk that is an image of this format and the changes since. It has a name of its own so that programs
 * that know no changes refuse it, and never take one of the two for the disk.
 */
export function changedFormat(format: string): string {
  return `${format}${MARK}`
}

/** The format of the image of such a disk; undefined for the format of a disk that is one image. */
export function formatBeforeChanges(format: string): string | undefined {
  return format.endsWith(MARK) ? format.slice(0, -MARK.length) : undefined
}
