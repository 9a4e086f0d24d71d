import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node'
import { addressesIn } from '#common/addresses.ts'
import { encryptionTo } from '#common/bus/encryption.ts'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'

const CONNECT_TIMEOUT_MS = 5_000

/**
 * A connection of the system account: for pushing accounts. The caller closes it. `url`: of each server, with commas
 * between them; the first that answers is used.
 */
export async function connectSystem(url: string, systemSeed: string): Promise<NatsConnection> {
  const servers = [...addressesIn(url)]
  const credentials = await issueCredentials('launcher', systemSeed, {})
  return connect({
    servers,
    ...encryptionTo(servers),
    name: 'launcher',
    authenticator: credsAuthenticator(new TextEncoder().encode(credentials)),
    timeout: CONNECT_TIMEOUT_MS,
    reconnect: false,
  })
}
