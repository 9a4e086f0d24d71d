import { createHash, randomBytes } from 'node:crypto'
import { Failure } from '#common/errors.ts'

/** The parts of a join token. */
export interface JoinTokenParts {
  readonly secret: string
  /** SHA-256 of the public key of the gateway's certificate, base64url; undefined where it serves without one. */
  readonly pin: string | undefined
}

const SECRET_BYTES = 32
const FORM = /^weir1\.(?<secret>[A-Za-z0-9_-]{43})(?:\.(?<pin>[A-Za-z0-9_-]{43}))?$/

export function newJoinSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

/** The hash that is stored of a secret; the secret cannot be computed from it. */
export function joinSecretHash(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

/** `weir1.<secret>`, and behind another dot the pin. */
export function writeJoinToken({ secret, pin }: JoinTokenParts): string {
  return ['weir1', secret, ...(pin === undefined ? [] : [pin])].join('.')
}

/** Throws `invalid` for text that is not a join token. */
export function readJoinToken(text: string): JoinTokenParts {
  const { secret, pin } = FORM.exec(text.trim())?.groups ?? {}
  if (secret === undefined)
    throw new Failure(
      'invalid',
      'This is not a complete join token. Create one with ./weir cell token create NAME, and give the whole text that it prints.',
    )
  return { secret, pin }
}
