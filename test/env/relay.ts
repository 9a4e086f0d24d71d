import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** The treatment of the bytes that pass through a relay. */
export type RelayMode = 'pass' | 'hold' | 'refuse'

/** Sees what passes on one connection, and may keep it from passing. */
export interface ConnectionTap {
  /** What the client sends; false: it does not arrive. */
  sent(bytes: Buffer): boolean
  /** What the server answers; false: it does not arrive. */
  answered(bytes: Buffer): boolean
}

/**
 * A wire between a program and a server that a test can cut: how messages get lost without either end being killed.
 * Disposing it cuts everything.
 */
export class Relay implements AsyncDisposable {
  readonly url: string
  readonly #server: Server
  /** How many connections it has refused. */
  refusals = 0
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  #mode: RelayMode = 'pass'
  #cutAt: Cut | undefined
  #newTap: (() => ConnectionTap) | undefined

  private constructor(server: Server, url: string) {
    this.#server = server
    this.url = url
  }

  /** `url` of the server behind: its host and port are replaced by the relay's. */
  static async open(url: string): Promise<Relay> {
    const { hostname, port } = new URL(url)
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const own = new URL(url)
    own.port = String((server.address() as AddressInfo).port)
    const relay = new Relay(server, own.href.replace(/\/$/, ''))
    server.on('connection', (client) => relay.#accept(client, hostname, Number(port)))
    return relay
  }

  /** How many are open now. */
  get connections(): number {
    return this.#pairs.size
  }

  /** From now on: 'pass' everything, 'hold' what comes (as a network that swallows it), or 'refuse' connections. */
  set(mode: RelayMode): void {
    this.#mode = mode
    for (const pair of this.#pairs) {
      if (mode === 'refuse') for (const socket of pair) socket.destroy()
      for (const socket of pair) {
        if (mode === 'hold') socket.pause()
        else socket.resume()
      }
    }
  }

  /** Every connection that is opened from now on has a tap of its own. */
  tap(newTap: () => ConnectionTap): void {
    this.#newTap = newTap
  }

  /**
   * Cuts the connection of the first client that is about to send `text` to the server, before it arrives there: the
   * client has done what it reports, and the report is lost. Resolves then; later messages pass.
   */
  loseNext(text: string): Promise<void> {
    return this.#lose(text, 'message')
  }

  /** As `loseNext`, but the server has received the text and answered it: the answer is lost. */
  loseAnswerTo(text: string): Promise<void> {
    return this.#lose(text, 'answer')
  }

  /** As `loseAnswerTo`, but of a database: the client is told this error, by its number, and stays connected. */
  answerWithError(text: string, number: number): Promise<void> {
    return this.#lose(text, 'answer', databaseError(number))
  }

  #lose(text: string, what: 'message' | 'answer', instead?: Buffer): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#cutAt = { text, what, done: resolve, ...(instead && { instead }) }
    return promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.set('refuse')
    const closed = once(this.#server, 'close')
    this.#server.close()
    await closed
  }

  #accept(client: Socket, hostname: string, port: number): void {
    if (this.#mode === 'refuse') {
      this.refusals += 1
      client.destroy()
      return
    }
    const server = connect(port, hostname)
    const pair = [client, server] as const
    this.#pairs.add(pair)
    for (const socket of pair) {
      socket.setNoDelay(true)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        this.#pairs.delete(pair)
        for (const end of pair) end.destroy()
      })
    }
    let lost: Cut | undefined
    const tap = this.#newTap?.()
    client.on('data', (bytes: Buffer) => {
      if (tap?.sent(bytes) === false) return
      lost ??= this.#toBeLost(bytes)
      if (lost?.what === 'message') client.destroy()
      else server.write(bytes)
    })
    server.on('data', (bytes: Buffer) => {
      if (tap?.answered(bytes) === false) return
      if (lost === undefined) client.write(bytes)
      else if (lost.instead === undefined) client.destroy()
      else {
        client.write(lost.instead)
        lost = undefined
      }
    })
    if (this.#mode === 'hold') for (const socket of pair) socket.pause()
  }

  #toBeLost(bytes: Buffer): Cut | undefined {
    const cut = this.#cutAt
    if (cut === undefined || !bytes.includes(cut.text)) return undefined
    this.#cutAt = undefined
    cut.done()
    return cut
  }
}

interface Cut {
  readonly text: string
  readonly what: 'message' | 'answer'
  /** Sent to the client in place of the answer. */
  readonly instead?: Buffer
  readonly done: () => void
}

/** The packet by which MariaDB answers a statement with an error: its length, its place after the statement, 0xff, the number, and the state. */
function databaseError(number: number): Buffer {
  const text = Buffer.from('#HY000the test says so')
  const header = Buffer.from([text.length + 3, 0, 0, 1, 0xff, number & 0xff, number >> 8])
  return Buffer.concat([header, text])
}
