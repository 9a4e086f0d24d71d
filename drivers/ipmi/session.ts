import { randomBytes } from 'node:crypto'
import { Failure } from '#common/errors.ts'
import { KeyedLock } from '../keyed-lock.ts'
import { BmcRefusal } from './bmc-failure.ts'
import { type BmcSettings, PRIVILEGES } from './bmc-settings.ts'
import type { CipherSuiteId } from './cipher-suites.ts'
import { type OpenedSession, openSession } from './handshake.ts'
import { type Answer, answerOf, type Command, commandMessage, NET_FUNCTIONS } from './message.ts'
import { PAYLOADS, sealedDatagram, unsealedPacket } from './packet.ts'
import { UdpExchange } from './udp-exchange.ts'

const SET_PRIVILEGE = 0x3b
const CLOSE_SESSION = 0x3c
const CLOSE_MS = 1_000
const IV_BYTES = 16

interface Pending {
  readonly number: number
  readonly code: number
  readonly resolve: (answer: Answer) => void
}

/**
 * An authenticated, encrypted session with a BMC. One command is under way at a time: many BMCs forget the first when
 * they are asked twice.
 */
export class Session implements AsyncDisposable {
  readonly #exchange: UdpExchange
  readonly #opened: OpenedSession
  readonly #turns = new KeyedLock<'command'>()
  #sent = 0
  #received = 0
  #number = 0
  #pending: Pending | undefined
  #onSerial: (content: Buffer) => void = () => {}

  private constructor(exchange: UdpExchange, opened: OpenedSession) {
    this.#exchange = exchange
    this.#opened = opened
    exchange.onDatagram((datagram) => this.#receive(datagram))
  }

  /** Throws what `openSession` throws. */
  static async open(
    settings: BmcSettings,
    suite: CipherSuiteId,
    signal: AbortSignal,
  ): Promise<Session> {
    const exchange = await UdpExchange.open(settings.address, settings.port, signal)
    try {
      const session = new Session(exchange, await openSession(exchange, settings, suite, signal))
      // A session starts with the lowest privilege, also if a higher one was requested.
      const data = Buffer.from([PRIVILEGES[settings.privilege]])
      const command = { netFunction: NET_FUNCTIONS.app, code: SET_PRIVILEGE, data }
      await session.command(command, signal)
      return session
    } catch (error) {
      exchange[Symbol.dispose]()
      throw error
    }
  }

  /** The BMC's answer. The BMC may carry a command out twice. Throws `BmcRefusal`, `unavailable` when it does not answer. */
  async command(command: Command, signal: AbortSignal): Promise<Buffer> {
    return this.#turns.run('command', signal, () => this.#ask(command, signal))
  }

  /** Calls `receive` with every packet of the serial console. */
  onSerial(receive: (content: Buffer) => void): void {
    this.#onSerial = receive
  }

  sendSerial(content: Buffer): void {
    this.#exchange.send(this.#sealed(PAYLOADS.serial, content))
  }

  /** Closes the session at the BMC, which has room for few, and does not wait long for that. */
  async [Symbol.asyncDispose](): Promise<void> {
    const data = Buffer.alloc(4)
    data.writeUInt32LE(this.#opened.bmcSession)
    const close = { netFunction: NET_FUNCTIONS.app, code: CLOSE_SESSION, data }
    // It forgets by itself a session that it hears nothing of.
    await this.command(close, AbortSignal.timeout(CLOSE_MS)).catch(() => undefined)
    this.#exchange[Symbol.dispose]()
  }

  async #ask(command: Command, signal: AbortSignal): Promise<Buffer> {
    const { promise, resolve } = Promise.withResolvers<Answer>()
    const number = this.#number
    this.#number = (this.#number + 1) % 64
    this.#pending = { number, code: command.code, resolve }
    const next = () => this.#sealed(PAYLOADS.command, commandMessage(number, command))
    try {
      const { completion, data } = await this.#exchange.repeat(next, promise, signal)
      if (completion !== 0) throw new BmcRefusal(command.code, completion)
      return data
    } finally {
      this.#pending = undefined
    }
  }

  #sealed(payload: number, content: Buffer): Buffer {
    const { bmcSession, keys } = this.#opened
    this.#sent += 1
    const packet = { payload, session: bmcSession, sequence: this.#sent, content }
    return sealedDatagram(packet, keys, randomBytes(IV_BYTES))
  }

  /** A packet with an old number is a repetition, perhaps not by the BMC; missed packets are sent again. */
  #receive(datagram: Buffer): void {
    const packet = unsealedPacket(datagram, this.#opened.keys)
    if (packet === undefined || packet.session !== this.#opened.consoleSession) return
    if (packet.sequence <= this.#received) return
    this.#received = packet.sequence
    if (packet.payload === PAYLOADS.serial) this.#onSerial(packet.content)
    else if (packet.payload === PAYLOADS.command) this.#receiveAnswer(answerOf(packet.content))
  }

  #receiveAnswer(answer: Answer | undefined): void {
    const { number, code, resolve } = this.#pending ?? {}
    if (answer?.number === number && answer?.code === code && answer !== undefined)
      resolve?.(answer)
  }
}

/** True for what a session is lost with. */
export function isNoAnswer(error: unknown): boolean {
  return error instanceof Failure && !(error instanceof BmcRefusal) && error.kind === 'unavailable'
}
