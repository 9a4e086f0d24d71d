import { type ErrorKind, Failure } from '#common/errors.ts'

const KINDS: Readonly<Record<number, ErrorKind>> = {
  400: 'invalid',
  401: 'unavailable',
  403: 'conflict', // Such as a network whose addresses overlap with another's.
  404: 'not-found',
  409: 'conflict',
  503: 'unavailable',
}

/** A refusal of the engine. Its own words are for operators: they name paths and images of its machine. */
export function engineFailure(status: number, body: string): Failure {
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
