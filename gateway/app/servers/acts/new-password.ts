import { randomBytes } from 'node:crypto'

const PASSWORD_BYTES = 9

/** A new random password, of characters that any console can type. */
export function newPassword(): string {
  return randomBytes(PASSWORD_BYTES).toString('base64url')
}
