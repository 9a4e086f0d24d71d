import { createSocket, type Socket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { Failure } from '#common/errors.ts'
import { abortable } from '../abortable.ts'

/** A BMC answers within milliseconds, or seconds when it is busy; a datagram may be lost. */
const REPEAT_MS = 1_000
const SENDS_MAX = 5

/** Datagrams to and from one address, and no other. */
export class UdpExchange implements Disposable {
  readonly #socket: Socket
  readonly #closing = Promise.withResolvers<never>()
  #isClosed = false
  #receive: (datagram: Buffer) => void = () => {}

  private constructor(socket: Socket) {
    this.#socket = socket
    this.#closing.promise.catch(() => undefined)
    socket.on('message', (datagram) => this.#receive(datagram))
    // A refused port is a BMC that starts: the repetitions decide.
    socket.on('error', () => {})
  }

  /** Throws `unavailable` for a name that cannot be resolved. */
  static async open(address: string, port: number, signal: AbortSignal): Promise<UdpExchange> {
    signal.throwIfAborted()
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
    const exchange = new UdpExchange(socket)
    const connected = Promise.withResolvers<void>()
    socket.once('error', connected.reject)
    // A callback would be called with the error as well.
    socket.once('connect', connected.resolve)
    socket.connect(port, address)
    try {
      await abortable(connected.promise, signal)
      socket.off('error', connected.reject)
      return exchange
    } catch (cause) {
      exchange[Symbol.dispose]()
      signal.throwIfAborted()
      throw new Failure('unavailable', 'The BMC has no address.', { cause })
    }
  }

  /** Calls `receive` with every datagram that comes, in place of who was called before. */
  onDatagram(receive: (datagram: Buffer) => void): void {
    this.#receive = receive
  }

  send(datagram: Buffer): void {
    if (this.#isClosed) return
    // A failed send shows in the answer, or in its absence.
    this.#socket.send(datagram, () => {})
  }

  /**
   * Sends what `next` makes, again and again, until `answer` settles. Throws `unavailable` when it does not in some
   * seconds, and when the exchange is disposed.
   */
  async repeat<T>(next: () => Buffer, answer: Promise<T>, signal: AbortSignal): Promise<T> {
    let sends = 0
    const silence = Promise.withResolvers<never>()
    const send = () => {
      if (sends === SENDS_MAX)
        silence.reject(new Failure('unavailable', 'The BMC does not answer.'))
      else this.send(next())
      sends += 1
    }
    const timer = setInterval(send, REPEAT_MS)
    try {
      signal.throwIfAborted()
      send()
      const first = Promise.race([answer, silence.promise, this.#closing.promise])
      return await abortable(first, signal)
    } finally {
      clearInterval(timer)
    }
  }

  [Symbol.dispose](): void {
    this.#receive = () => {}
    this.#isClosed = true
    this.#closing.reject(new Failure('unavailable', 'The session with the BMC has ended.'))
    this.#socket.close()
  }
}
