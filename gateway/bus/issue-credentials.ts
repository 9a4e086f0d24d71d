import { createUser, encodeUser, fmtCreds, fromSeed, type Permissions } from '@nats-io/jwt'

/** A new user of the account, as the text of a credentials file (user JWT and private key): a secret. */
export async function issueCredentials(
  name: string,
  accountSeed: string,
  permissions: Permissions,
): Promise<string> {
  const user = createUser()
  const account = fromSeed(new TextEncoder().encode(accountSeed))
  return new TextDecoder().decode(
    fmtCreds(await encodeUser(name, user, account, permissions), user),
  )
}
