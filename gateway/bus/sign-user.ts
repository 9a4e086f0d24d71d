import { encodeUser, type Permissions } from '@nats-io/jwt'
import { endAfter } from '#common/bus/credential.ts'
import { nativeKeyPair } from '#common/bus/native-key-pair.ts'

/**
 * The right of the holder of the private key of `publicKey` to act as a user of the account: worth nothing without
 * that key, and nothing once `lifetimeS` seconds have passed.
 */
export function signUser(
  name: string,
  publicKey: string,
  accountSeed: string,
  permissions: Permissions,
  lifetimeS: number,
): Promise<string> {
  const account = nativeKeyPair(accountSeed)
  return encodeUser(name, publicKey, account, permissions, { exp: endAfter(lifetimeS) })
}
