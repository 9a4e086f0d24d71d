/**
 * For the `catch` of reading a file or folder: `value` if the file does not exist. Any other failure, such as of the
 * disk or of permissions, is rethrown: it does not mean that the file is missing.
 */
export function ifAbsent<T>(value: T): (error: unknown) => T {
  return (error) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return value
    throw error
  }
}
