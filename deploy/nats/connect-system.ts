import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'

const CONNECT_TIMEOUT_MS = 2_000

/** A connection of the system account: for pushing accounts. The caller closes it. */
export async function connectSystem(url: string, systemSeed: string): Promise<NatsConnection> {
  const credentials = await issueCredentials('launcher', systemSeed, {})
  return connect({
    servers: url,
    name: 'launcher',
    authenticator: credsAuthenticator(new TextEncoder().encode(credentials)),
    timeout: CONNECT_TIMEOUT_MS,
    reconnect: false,
  })
}
