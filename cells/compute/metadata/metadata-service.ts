import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '#common/clock.ts'
import type { NetworkId } from '#common/ids.ts'
import { errorFields, type Logger } from '#common/log.ts'
import { forEachRow, type ReconcilerReport, RunningReconciler } from '#common/reconciler.ts'
import type { GuestMetadata, ServedNetworks } from '#drivers/guest-metadata.ts'
import { isPasswordPath, metadataAt } from './metadata-paths.ts'
import type { GuestRecord, MetadataStore } from './metadata-store.ts'

const REPAIR_MS = 10_000
const REQUEST_MS = 10_000
/** Of one address of a network: a guest that opens more takes nothing from others. */
const CONNECTIONS_MAX = 16
/** Nova's limit, in bytes. */
const PASSWORD_MAX = 1_020

export interface MetadataServiceOptions {
  readonly store: MetadataStore
  readonly guests: GuestMetadata
  /** Afterwards the cell has the password of the guest. Throws `unavailable`, and `conflict` while the cell does not have the guest here. */
  readonly reportPassword: (guest: GuestRecord) => Promise<void>
  readonly clock: Clock
  readonly log: Logger
}

/** The origin of a connection, which its network vouches for: the network's, and an address that only one port may send from. */
interface Origin {
  readonly networkId: NetworkId
  readonly address: string
}

/**
 * Answers guests at 169.254.169.254 and fe80::a9fe:a9fe, in the formats of OpenStack and Amazon. A guest is known by the
 * network and the address that its connection comes from, and never from its headers.
 */
export class MetadataService implements AsyncDisposable {
  readonly #options: MetadataServiceOptions
  readonly #server: Server
  readonly #networks: ServedNetworks
  readonly #reconciler: RunningReconciler
  readonly #origins = new WeakMap<Socket, Origin>()
  readonly #connections = new Map<string, number>()
  /** The cell may lose what it passed on: after a start every password is reported again. */
  readonly #reported = new Map<string, string | null>()

  constructor(options: MetadataServiceOptions) {
    this.#options = options
    const { store, guests, clock, log } = options
    this.#server = createServer(
      { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, keepAliveTimeout: REQUEST_MS },
      (request, response) => {
        void this.#answer(request, response).catch((error: unknown) => {
          log.error(errorFields(error), 'a guest was not answered')
          response.destroy()
        })
      },
    )
    this.#networks = guests.open((connection, networkId) => this.#accept(connection, networkId))
    this.#reconciler = new RunningReconciler(
      { name: 'guest metadata', everyMs: REPAIR_MS, round: (signal) => this.#round(signal) },
      clock,
      log,
    )
    store.onChange = () => this.#reconciler.wake()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reconciler[Symbol.asyncDispose]()
    await this.#networks[Symbol.asyncDispose]()
    this.#server.closeAllConnections()
  }

  async #round(signal: AbortSignal): Promise<ReconcilerReport> {
    const { store, reportPassword, log } = this.#options
    const networks = store.networks()
    await this.#networks.serve(networks, signal)
    const published = store.withPassword()
    const unreported = published.filter(({ id, password }) => this.#reported.get(id) !== password)
    const each = { log, signal, nameOf: ({ id }: GuestRecord) => id }
    const left = await forEachRow(unreported, each, async (guest) => {
      await reportPassword(guest)
      this.#reported.set(guest.id, guest.password)
    })
    return { networks: networks.size, passwords: published.length, unreported: left }
  }

  #accept(connection: Socket, networkId: NetworkId): void {
    const { remoteAddress: address } = connection
    if (address === undefined) return
    const key = `${networkId} ${address}`
    const count = (this.#connections.get(key) ?? 0) + 1
    if (count > CONNECTIONS_MAX) {
      connection.destroy()
      return
    }
    this.#connections.set(key, count)
    connection.once('close', () => {
      const left = this.#connections.get(key)! - 1
      if (left === 0) this.#connections.delete(key)
      else this.#connections.set(key, left)
    })
    this.#origins.set(connection, { networkId, address })
    this.#server.emit('connection', connection)
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const origin = this.#origins.get(request.socket)!
    const guest = this.#options.store.at(origin.networkId, origin.address)
    const { pathname } = new URL(request.url ?? '/', 'http://metadata')
    if (guest === undefined) return reply(response, 404, 'No server has this address.\n')
    if (request.method === 'POST' && isPasswordPath(pathname))
      return this.#publish(guest, request, response)
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return reply(response, 405, `${request.method} is not possible here.\n`)
    const content = metadataAt(guest, pathname)
    if (content === undefined) return reply(response, 404, `There is nothing at ${pathname}.\n`)
    reply(response, 200, content, pathname.endsWith('.json') ? 'application/json' : 'text/plain')
  }

  async #publish(
    guest: GuestRecord,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const password = await bodyOf(request)
    if (password === undefined) {
      response.setHeader('connection', 'close')
      reply(response, 400, `The password is longer than ${PASSWORD_MAX} bytes.\n`)
    } else if (await this.#options.store.publishPassword(guest.id, password)) {
      reply(response, 200, '')
    } else {
      reply(
        response,
        409,
        'This server has published a password, which its owner must clear first.\n',
      )
    }
  }
}

/** Undefined for a body that is too long. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length
    if (length > PASSWORD_MAX) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts).toString('latin1')
}

function reply(
  response: ServerResponse,
  status: number,
  content: Uint8Array | string,
  type = 'text/plain',
): void {
  const body = typeof content === 'string' ? Buffer.from(content) : content
  response.writeHead(status, { 'content-type': type, 'content-length': body.length })
  response.end(body)
}
