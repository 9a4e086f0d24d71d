import { readFileSync } from 'node:fs'
import {
  connect,
  credsAuthenticator,
  hasWsProtocol,
  type NatsConnection,
  wsconnect,
} from '@nats-io/transport-node'
import type { Logger } from '../log.ts'

export interface BusOptions {
  /** nats://host:port, or all of them wss://host:port; one or several separated by commas. */
  readonly url: string
  /** A credentials file as NATS tools write it; absent only where the server asks for none. */
  readonly credentialsFile?: string | undefined
  readonly name: string
  /** Where replies arrive; a narrow credential allows only its own. */
  readonly inboxPrefix?: string
  readonly onReconnect?: () => void
}

const RECONNECT_MS = 250
const PING_MS = 5_000

/** Connects and stays: a lost connection is tried again for ever, and requests meanwhile fail at once. */
export async function connectBus(options: BusOptions, log: Logger): Promise<NatsConnection> {
  const { url, credentialsFile, name, inboxPrefix } = options
  const servers = url.split(',')
  const dial = hasWsProtocol({ servers }) ? wsconnect : connect
  const nats = await dial({
    servers,
    name,
    maxReconnectAttempts: -1,
    reconnectDelayHandler: steadyDelay(RECONNECT_MS),
    pingInterval: PING_MS,
    maxPingOut: 2,
    waitOnFirstConnect: true,
    // Otherwise every request makes an error beforehand, in case it will be wanted: a tenth of a request's cost.
    noAsyncTraces: true,
    ...(inboxPrefix === undefined ? {} : { inboxPrefix }),
    ...(credentialsFile === undefined
      ? {}
      : { authenticator: credsAuthenticator(() => readFileSync(credentialsFile)) }),
  })
  void watchStatus(nats, options, log)
  return nats
}

/**
 * How long the client waits between two tries. By itself it compares with the wall clock when it last tried: set back by an
 * hour, that clock would keep it off the bus for as long. Once so much steady time has passed it is told to try now.
 */
function steadyDelay(waitMs: number): () => number {
  let triedAt = -Infinity
  return () => {
    const now = performance.now()
    if (now - triedAt < waitMs) return waitMs
    triedAt = now
    return -Infinity
  }
}

async function watchStatus(nats: NatsConnection, options: BusOptions, log: Logger): Promise<void> {
  for await (const status of nats.status()) {
    if (status.type === 'disconnect') log.warn({ bus: options.name }, 'bus lost')
    if (status.type !== 'reconnect') continue
    log.info({ bus: options.name }, 'bus back')
    options.onReconnect?.()
  }
}
