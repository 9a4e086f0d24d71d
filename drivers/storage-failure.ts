import { Failure, isFailure } from '#common/errors.ts'

/** By what the system says (errno(3)); a file that is absent is its reader's business. */
const FAILURES: Readonly<Record<string, readonly ['no-capacity' | 'internal', string]>> = {
  ENOSPC: ['no-capacity', 'The host has no room left on its disk.'],
  EDQUOT: ['no-capacity', 'The host has no room left on its disk.'],
  EACCES: ['internal', 'The host may not write where it keeps its guests.'],
  EPERM: ['internal', 'The host may not write where it keeps its guests.'],
  EROFS: ['internal', 'The host may not write where it keeps its guests.'],
  ENOTDIR: ['internal', 'The place where the host keeps its guests is not a directory.'],
  EIO: ['internal', 'The disk of the host cannot be read or written.'],
}

/** How programs say ENOSPC and EDQUOT, in the C locale. */
const NO_ROOM = /No space left on device|Disk quota exceeded/

/** The failure for an error of the host's file system, also one of a program; any other error is returned unchanged. */
export function storageFailure(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const isWithoutRoom = isFailure(error, 'internal') && NO_ROOM.test(error.detail ?? '')
  const found = FAILURES[isWithoutRoom ? 'ENOSPC' : 'code' in error ? String(error.code) : '']
  if (found === undefined) return error
  const [kind, message] = found
  return new Failure(kind, message, { cause: error })
}
