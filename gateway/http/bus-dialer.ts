import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { addressesIn, type BusAddress, busAddress } from '#common/addresses.ts'
import { type FirstLine, firstLine } from './first-line.ts'

/** A server of the bus that has not greeted after this time may hang: the next one is tried beside it. */
const NEXT_AFTER_MS = 300

/** A connection to a server of the bus, and its greeting, of which nothing was passed on. */
export interface OpenBusConnection {
  readonly socket: Socket
  readonly info: FirstLine
}

/** Connects to the servers of a bus in turn, so that each has its share of the peers. */
export class BusDialer {
  readonly #servers: readonly BusAddress[]
  #dials = 0

  /** `urls`: of each server, with commas between them. */
  constructor(urls: string) {
    this.#servers = addressesIn(urls).map(busAddress)
  }

  /**
   * A server that greets, the first to do so of those that were tried. Throws when none does before `limit`; the caller
   * ends the connection.
   */
  async dial(limit: AbortSignal): Promise<OpenBusConnection> {
    const first = this.#dials
    this.#dials += 1
    const over = new AbortController()
    const signal = AbortSignal.any([limit, over.signal])
    const tried: Promise<OpenBusConnection>[] = []
    let used: OpenBusConnection | undefined
    try {
      for (let nth = 0; nth < this.#servers.length && used === undefined; nth += 1) {
        const server = this.#servers[(first + nth) % this.#servers.length] as BusAddress
        const greeted = openConnection(server, signal)
        tried.push(greeted)
        used = await firstOf(tried, greeted)
      }
      used ??= await Promise.any(tried)
      return used
    } finally {
      over.abort()
      for (const each of tried)
        void each.then(
          (greeted) => greeted === used || greeted.socket.destroy(),
          () => {},
        )
    }
  }
}

/** The first that greeted; undefined once the newest has failed, or has had its time. */
async function firstOf(
  tried: readonly Promise<OpenBusConnection>[],
  newest: Promise<OpenBusConnection>,
): Promise<OpenBusConnection | undefined> {
  const deadline = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => deadline.resolve(undefined), NEXT_AFTER_MS)
  try {
    const failed = newest.then(
      () => newest,
      () => undefined,
    )
    const greeted = Promise.any(tried).catch(() => undefined)
    return await Promise.race([greeted, failed, deadline.promise])
  } finally {
    clearTimeout(timer)
  }
}

async function openConnection(server: BusAddress, signal: AbortSignal): Promise<OpenBusConnection> {
  const plain = connect({ host: server.host, port: server.port, noDelay: true })
  plain.on('error', () => {})
  try {
    const info = await firstLine(plain, signal)
    return server.isEncrypted
      ? { socket: await encrypted(plain, server.host, signal), info: withoutTls(info) }
      : { socket: plain, info }
  } catch (error) {
    plain.destroy()
    throw error
  }
}

/** After its greeting the server expects a handshake; its certificate must be for the address that was dialled. */
async function encrypted(plain: Socket, host: string, signal: AbortSignal): Promise<Socket> {
  const name = isIP(host) === 0 ? { servername: host } : {}
  const socket = connectTls({ socket: plain, host, ...name })
  socket.on('error', () => {})
  await once(socket, 'secureConnect', { signal })
  return socket
}

/** The peer encrypts up to the gateway, and is not to do so again within that. */
function withoutTls({ line }: FirstLine): FirstLine {
  const info = JSON.parse(line.replace(/^INFO +/, '')) as Record<string, unknown>
  for (const name of ['tls_required', 'tls_available', 'tls_verify']) delete info[name]
  const own = `INFO ${JSON.stringify(info)}`
  return { line: own, bytes: Buffer.from(`${own}\r\n`) }
}
