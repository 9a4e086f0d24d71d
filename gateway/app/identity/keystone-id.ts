import { randomUUID } from 'node:crypto'

/** A new id as Keystone's clients expect them: 32 hexadecimal digits. */
export function newKeystoneId(): string {
  return randomUUID().replaceAll('-', '')
}
