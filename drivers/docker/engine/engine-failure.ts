import { type ErrorKind, Failure } from '#common/errors.ts'

const KINDS: Readonly<Record<number, ErrorKind>> = {
  400: 'invalid',
  401: 'unavailable',
  403: 'conflict', // Such as a network whose addresses overlap with another's.
  404: 'not-found',
  409: 'conflict',
  503: 'unavailable',
}

/** The kernel's ENOSPC and EDQUOT in messages of the engine, which has no status for them. */
const NO_ROOM = /no space left on device|disk quota exceeded/

/** A refusal of the engine. Its message is for operators: it names paths and images of its machine. */
export function engineFailure(status: number, body: string): Failure {
  const full = withoutRoom(body)
  if (full !== undefined) return full
  const kind = KINDS[status] ?? 'internal'
  return new Failure(kind, 'The container engine refused.', {
    detail: `${status}: ${messageOf(body)}`,
  })
}

function messageOf(body: string): string {
  try {
    return (JSON.parse(body) as { message?: string }).message ?? body
  } catch {
    return body
  }
}

/** The failure that words of the engine stand for which say that its disk is full; else undefined. */
export function withoutRoom(words: string): Failure | undefined {
  if (!NO_ROOM.test(words)) return undefined
  return new Failure('no-capacity', 'The container engine has no room left on its disk.', {
    detail: words.trim(),
  })
}
