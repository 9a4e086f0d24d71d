import { encodeUser, fromSeed, type Permissions } from '@nats-io/jwt'

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
  const account = fromSeed(new TextEncoder().encode(accountSeed))
  return encodeUser(name, publicKey, account, permissions)
}
