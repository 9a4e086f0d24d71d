import { connect, type Socket } from 'node:net'
import { Failure } from '#common/errors.ts'
import {
  encodePdu,
  FINAL,
  IMMEDIATE,
  NO_TAG,
  newHeader,
  OPCODES,
  type Pdu,
  PduFramer,
} from './pdu.ts'

/** A target that is silent for so long is taken for unreachable. */
const SILENCE_MS = 8_000

/** Where a target listens. */
export interface Portal {
  readonly host: string
  readonly port: number
}

interface Waiting {
  readonly resolve: (pdu: Pdu) => void
  readonly reject: (error: Error) => void
}

/** A connection to a target: units are sent, and those that come are taken in their order. */
export class IscsiConnection implements Disposable {
  readonly #socket: Socket
  readonly #framer = new PduFramer()
  readonly #came: Pdu[] = []
  readonly #signal: AbortSignal
  readonly #onAbort: () => void
  readonly #portal: Portal
  #waiting: Waiting | undefined
  #failure: Error | undefined
  /** The number of the next command, and of the next answer. */
  commandNumber = 1
  answerNumber = 0

  private constructor(portal: Portal, signal: AbortSignal) {
    this.#portal = portal
    this.#signal = signal
    this.#onAbort = () => this.#close(signal.reason as Error)
    this.#socket = connect({ host: portal.host, port: portal.port, noDelay: true })
    this.#socket.on('data', (chunk) => this.#receive(chunk))
    this.#socket.on('error', (error) => this.#close(unreached(portal, error.message)))
    this.#socket.on('close', () => this.#close(unreached(portal, 'it hung up')))
    signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** Throws `unavailable` where nothing listens; what is sent meanwhile waits. */
  static open(portal: Portal, signal: AbortSignal): IscsiConnection {
    signal.throwIfAborted()
    return new IscsiConnection(portal, signal)
  }

  send(header: Buffer, data?: Buffer): void {
    if (this.#failure !== undefined) throw this.#failure
    header.writeUInt32BE(this.answerNumber, 28)
    this.#socket.write(encodePdu(header, data))
  }

  /** The next unit but pings, which are answered at any time. Throws `unavailable` where none comes in time. */
  receive(): Promise<Pdu> {
    const pdu = this.#came.shift()
    if (pdu !== undefined) return Promise.resolve(pdu)
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    const { promise, resolve, reject } = Promise.withResolvers<Pdu>()
    const silent = () => this.#close(unreached(this.#portal, 'it does not answer'))
    const timer = setTimeout(silent, SILENCE_MS)
    this.#waiting = { resolve, reject }
    return promise.finally(() => clearTimeout(timer))
  }

  [Symbol.dispose](): void {
    this.#close(new Error('closed'))
  }

  #answerPing({ header }: Pdu): void {
    const answer = newHeader(OPCODES.nopOut | IMMEDIATE, FINAL)
    header.copy(answer, 8, 8, 16)
    answer.writeUInt32BE(NO_TAG, 16)
    header.copy(answer, 20, 20, 24)
    answer.writeUInt32BE(this.commandNumber, 24)
    this.send(answer)
  }

  #receive(chunk: Buffer): void {
    try {
      for (const pdu of this.#framer.push(chunk))
        if (pdu.opcode !== OPCODES.nopIn) this.#came.push(pdu)
        else if (pdu.header.readUInt32BE(20) !== NO_TAG) this.#answerPing(pdu)
    } catch (error) {
      return this.#close(unreached(this.#portal, `it sends ${(error as Error).message}`))
    }
    if (this.#waiting === undefined || this.#came.length === 0) return
    this.#waiting.resolve(this.#came.shift()!)
    this.#waiting = undefined
  }

  #close(failure: Error): void {
    this.#failure ??= failure
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#socket.destroy()
    this.#waiting?.reject(this.#failure)
    this.#waiting = undefined
  }
}

function unreached({ host, port }: Portal, why: string): Failure {
  return new Failure('unavailable', 'The iSCSI target is not reached.', {
    detail: `${host}:${port}: ${why}`,
  })
}
