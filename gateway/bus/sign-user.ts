import { encodeUser, type Permissions } from '@nats-io/jwt'
import { nativeKeyPair } from './native-key-pair.ts'

/**
 * The right of whoever holds the private key of `publicKey` to act as a user of the account: worth nothing without
 * that key.
 */
export function signUser(
  name: string,
  publicKey: string,
  accountSeed: string,
  permissions: Permissions,
): Promise<string> {
  const account = nativeKeyPair(accountSeed)
  return encodeUser(name, publicKey, account, permissions)
}
