import { Failure } from '#common/errors.ts'

/** By what the system says (errno(3)); a file that is absent is its reader's business. */
const FAILURES: Readonly<Record<string, readonly ['no-capacity' | 'internal', string]>> = {
  ENOSPC: ['no-capacity', 'The host has no room left on its disk.'],
  EDQUOT: ['no-capacity', 'The host has no room left on its disk.'],
  EACCES: ['internal', 'The host may not write where it keeps its guests.'],
  EPERM: ['internal', 'The host may not write where it keeps its guests.'],
  EROFS: ['internal', 'The host may not write where it keeps its guests.'],
  ENOTDIR: ['internal', 'The place where the host keeps its guests is no folder.'],
  EIO: ['internal', 'The disk of the host cannot be read or written.'],
}

/** The failure that an error of the host's file system stands for; any other error is returned as it is. */
export function storageFailure(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error
  const found = FAILURES[String(error.code)]
  if (found === undefined) return error
  const [kind, message] = found
  return new Failure(kind, message, { cause: error })
}
