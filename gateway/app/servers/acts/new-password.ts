import { randomBytes } from 'node:crypto'

const PASSWORD_BYTES = 9

/** A password nobody has had before, of characters that any console can type. */
export function newPassword(): string {
  return randomBytes(PASSWORD_BYTES).toString('base64url')
}
