import { createHash } from 'node:crypto'
import { Failure } from '#common/errors.ts'
import type { IdempotencyKey } from '../db/idempotency-keys.ts'
import { noteKey } from './repeatable.ts'
import type { RequestContext } from './request-context.ts'

const KEY_LENGTH_MAX = 255

/**
 * A key was used for a different request, which its client cannot have intended
 * (draft-ietf-httpapi-idempotency-key-header).
 */
export class IdempotencyKeyReused extends Failure {
  constructor() {
    super(
      'invalid',
      'This Idempotency-Key was used for another request: send the same body, or another key.',
    )
  }
}

/**
 * The identity of a request that carries an `Idempotency-Key`; null for a request without one. `meant` is everything
 * that a repeat has in common with the first request: its body, and its target if that can differ.
 */
export function idempotencyKey(
  context: RequestContext,
  header: string | undefined,
  meant: unknown,
): IdempotencyKey | null {
  if (header === undefined) return null
  refuseWrongLength(header)
  noteKey()
  const { projectId, userId, microversion } = context
  return {
    projectId: projectId ?? userId,
    keyHash: hash([header]),
    fingerprint: hash([userId, microversion, JSON.stringify(meant)]),
  }
}

/**
 * The same of a request that deletes the object at `path`. Each path has keys of its own, as a client that sends one key
 * with every delete expects.
 */
export function deleteKey(
  { projectId, userId }: Pick<RequestContext, 'projectId' | 'userId'>,
  header: string | undefined,
  path: string,
): IdempotencyKey | null {
  if (header === undefined) return null
  refuseWrongLength(header)
  noteKey()
  return {
    projectId: projectId ?? userId,
    keyHash: hash(['DELETE', path, header]),
    fingerprint: hash([userId]),
  }
}

function refuseWrongLength(header: string): void {
  if (header.length === 0 || header.length > KEY_LENGTH_MAX)
    throw new Failure('invalid', `Idempotency-Key must have 1 to ${KEY_LENGTH_MAX} characters.`)
}

function hash(parts: readonly string[]): string {
  const digest = createHash('sha256')
  for (const part of parts) digest.update(`${part.length}:${part}`)
  return digest.digest('hex')
}
