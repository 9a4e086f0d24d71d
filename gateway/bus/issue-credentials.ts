import { createUser, encodeUser, fmtCreds, type Permissions } from '@nats-io/jwt'
import { CREDENTIAL_LIFETIME_S, endAfter } from '#common/bus/credential.ts'
import { nativeKeyPair, newKeyPair } from '#common/bus/native-key-pair.ts'

/** A new user of the account, as the text of a credentials file (user JWT and private key): a secret. */
export async function issueCredentials(
  name: string,
  accountSeed: string,
  permissions: Permissions,
  lifetimeS = CREDENTIAL_LIFETIME_S,
): Promise<string> {
  const user = newKeyPair(createUser)
  const account = nativeKeyPair(accountSeed)
  return new TextDecoder().decode(
    fmtCreds(
      await encodeUser(name, user, account, permissions, { exp: endAfter(lifetimeS) }),
      user,
    ),
  )
}
