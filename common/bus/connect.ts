import {
  connect,
  hasWsProtocol,
  type NatsConnection,
  type ReconnectToServerHandler,
  wsconnect,
} from '@nats-io/transport-node'
import { addressesIn } from '../addresses.ts'
import { systemClock } from '../clock.ts'
import type { Logger } from '../log.ts'
import { RunningReconciler } from '../reconciler.ts'
import { runAfterLoss } from './after-loss.ts'
import { encryptionTo } from './encryption.ts'
import { CredentialRenewer, type Renew } from './keep-credential.ts'

export interface BusOptions {
  /** nats://host:port, or tls:// where the connection is to be encrypted, or all of them wss://host:port; one or several separated by commas. */
  readonly url: string
  /** A credentials file as NATS tools write it; absent only where the server asks for none. */
  readonly credentialsFile?: string | undefined
  /** Renews the credential at half its life; absent: another process renews it, or it is never renewed. */
  readonly renew?: Renew | undefined
  readonly name: string
  /** Where replies arrive; a narrow credential allows only its own. */
  readonly inboxPrefix?: string
  readonly onReconnect?: () => void
}

const RECONNECT_MS = 250
/** Of a peer that the bus refuses. */
const REFUSED_RECONNECT_MS = 2_000
/** A server that answers none of two pings is left after three of these pauses. */
const PING_MS = 800
/** From the first packet until a server has let the program in: one that hangs takes connections and says nothing. */
const DIAL_LIMIT_MS = 2_000
/** The same through a gateway, which may be far away. */
const FAR = { pingMs: 2_000, dialLimitMs: 10_000 } as const

/**
 * Connects and stays: a lost connection is tried again for ever, at each address in turn, also where the bus refuses the
 * credential. With `renew` the credential is renewed while the connection is open.
 */
export async function connectBus(options: BusOptions, log: Logger): Promise<NatsConnection> {
  const { credentialsFile: file, renew } = options
  const keeper =
    file === undefined ? undefined : new CredentialRenewer({ file, renew, clock: systemClock, log })
  const renewing = keeper && renew && new RunningReconciler(keeper.reconciler(), systemClock, log)
  try {
    const nats = await dial(options, keeper)
    keeper?.connected(nats)
    void nats.closed().then(() => renewing?.[Symbol.asyncDispose]())
    void watchStatus(nats, options, log, keeper)
    return nats
  } catch (error) {
    await renewing?.[Symbol.asyncDispose]()
    throw error
  }
}

function dial(
  { url, name, inboxPrefix }: BusOptions,
  keeper: CredentialRenewer | undefined,
): Promise<NatsConnection> {
  const servers = [...addressesIn(url)]
  const isFar = hasWsProtocol({ servers })
  const open = isFar ? wsconnect : connect
  return open({
    servers,
    name,
    maxReconnectAttempts: -1,
    reconnectDelayHandler: steadyDelay(() =>
      keeper?.isRefused() === true ? REFUSED_RECONNECT_MS : RECONNECT_MS,
    ),
    timeout: isFar ? FAR.dialLimitMs : DIAL_LIMIT_MS,
    pingInterval: isFar ? FAR.pingMs : PING_MS,
    maxPingOut: 2,
    // A server names addresses that this program may be unable to reach.
    ignoreClusterUpdates: true,
    reconnectToServer: longestNotDialled(),
    waitOnFirstConnect: true,
    // Meanwhile a refused credential is renewed, or replaced by hand.
    ignoreAuthErrorAbort: true,
    // Otherwise every request makes an error beforehand, in case it will be wanted: a tenth of a request's cost.
    noAsyncTraces: true,
    ...encryptionTo(servers),
    ...(inboxPrefix === undefined ? {} : { inboxPrefix }),
    ...(keeper === undefined ? {} : { authenticator: keeper.authenticator }),
  })
}

/**
 * How long the client waits between two tries. The client itself computes this with the time of day: if the clock is
 * set back by an hour, it would stay off the bus for that long. This function counts steady time instead.
 */
function steadyDelay(wait: () => number): () => number {
  let triedAt = -Infinity
  return () => {
    const now = performance.now()
    const waitMs = wait()
    if (now - triedAt < waitMs) return waitMs
    triedAt = now
    return -Infinity
  }
}

/** The client itself would first dial the server again that was lost. */
function longestNotDialled(): ReconnectToServerHandler {
  const nthDials = new Map<string, number>()
  let dials = 0
  return (servers) => {
    const nth = ({ src }: { readonly src: string }) => nthDials.get(src) ?? 0
    const next = servers.toSorted((a, b) => nth(a) - nth(b))[0] ?? null
    dials += 1
    if (next !== null) nthDials.set(next.src, dials)
    return next
  }
}

async function watchStatus(
  nats: NatsConnection,
  options: BusOptions,
  log: Logger,
  keeper: CredentialRenewer | undefined,
): Promise<void> {
  let isLost = false
  for await (const status of nats.status()) {
    // Also called for each attempt that the bus refuses.
    if (status.type === 'disconnect' && !isLost) {
      isLost = true
      log.warn({ bus: options.name }, 'bus lost')
    }
    if (status.type !== 'reconnect') continue
    isLost = false
    keeper?.connected()
    log.info({ bus: options.name }, 'bus back')
    runAfterLoss(nats)
    options.onReconnect?.()
  }
}
