import { createUser, encodeUser, fmtCreds, type Permissions } from '@nats-io/jwt'
import { nativeKeyPair, newKeyPair } from './native-key-pair.ts'

/** A new user of the account, as the text of a credentials file (user JWT and private key): a secret. */
export async function issueCredentials(
  name: string,
  accountSeed: string,
  permissions: Permissions,
): Promise<string> {
  const user = newKeyPair(createUser)
  const account = nativeKeyPair(accountSeed)
  return new TextDecoder().decode(
    fmtCreds(await encodeUser(name, user, account, permissions), user),
  )
}
