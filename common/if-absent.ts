/**
 * For the `catch` of what reads a file or folder: `value` where there is none. Any other failure, such as of a disk
 * or of permissions, goes on: it does not say that nothing is there.
 */
export function ifAbsent<T>(value: T): (error: unknown) => T {
  return (error) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return value
    throw error
  }
}
