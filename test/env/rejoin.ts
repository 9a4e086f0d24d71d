import { writeFileSync } from 'node:fs'
import { fmtCreds } from '@nats-io/jwt'
import { createUser } from '@nats-io/nkeys'
import { WIRE_VERSION } from '#openapi/wire.ts'
import type { ApiClient } from './api/client.ts'

/** Afterwards the file has a new credential, for which a cell that was shut out, or a host of it, has given a token. */
export async function rejoin(
  admin: ApiClient,
  subject: { readonly cell: string; readonly host?: string },
  credentialsFile: string,
): Promise<void> {
  const made = await admin.post<{ token: string }>('/federation/v1/tokens', subject)
  const key = createUser()
  const asked = { public_key: key.getPublicKey(), wire_versions: [WIRE_VERSION] }
  const { status, body } = await admin.post<{ credential: string }>('/federation/v1/join', {
    token: made.body.token,
    ...asked,
  })
  if (status !== 200) throw new Error(`Joining answered ${status}: ${JSON.stringify(body)}`)
  writeFileSync(credentialsFile, fmtCreds(body.credential, key))
}
