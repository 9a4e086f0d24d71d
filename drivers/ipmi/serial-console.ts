import { Duplex } from 'node:stream'
import { Failure } from '#common/errors.ts'
import type { Bmc } from './bmc.ts'
import { BmcRefusal, COMPLETIONS, isRefusal } from './bmc-failure.ts'
import { NET_FUNCTIONS } from './message.ts'
import { SERIAL_NUMBERS, serialContent, serialPacket } from './serial-packet.ts'
import type { Session } from './session.ts'

/** IPMI 2.0, 24.1 and 24.2. */
const ACTIVATE = 0x48
const DEACTIVATE = 0x49
const GET_DEVICE_ID = 0x01
const SERIAL = 1
const FIRST_INSTANCE = 1
const ENCRYPT_AND_SIGN = 0xc0
/** A BMC repeats unacknowledged packets after some hundred ms, and expects the same of this side. */
const REPEAT_MS = 500
const SENDS_MAX = 8
/** A BMC forgets a session that is silent for a minute. */
const ALIVE_MS = 20_000
const ASK_MS = 10_000
const SERIAL_HEADER_BYTES = 4
/** The BMC has given the console to another. */
const DEACTIVATED = 0x10

/**
 * The machine's serial console. Another session that has it open loses it. Throws `unsupported` when the BMC offers
 * none.
 */
export async function openSerialConsole(bmc: Bmc, signal: AbortSignal): Promise<Duplex> {
  const session = await bmc.openSession(signal)
  try {
    return new SerialConsole(session, await activate(session, signal))
  } catch (error) {
    await session[Symbol.asyncDispose]()
    throw isRefusal(error, COMPLETIONS.invalidCommand, COMPLETIONS.invalidField)
      ? new Failure('unsupported', 'The BMC offers no serial console.', { cause: error })
      : error
  }
}

/** How many bytes one packet may hold. */
async function activate(session: Session, signal: AbortSignal): Promise<number> {
  const command = (code: number, flags: number) => {
    const data = Buffer.from([SERIAL, FIRST_INSTANCE, flags, 0, 0, 0])
    return session.command({ netFunction: NET_FUNCTIONS.app, code, data }, signal)
  }
  try {
    return packetBytes(await command(ACTIVATE, ENCRYPT_AND_SIGN))
  } catch (error) {
    if (!isRefusal(error, COMPLETIONS.alreadyActive)) throw error
    await command(DEACTIVATE, 0)
    return packetBytes(await command(ACTIVATE, ENCRYPT_AND_SIGN))
  }
}

function packetBytes(answer: Buffer): number {
  return Math.max(1, answer.readUInt16LE(4) - SERIAL_HEADER_BYTES)
}

/** Its bytes. It ends when the BMC gives it to another, or is silent; destroying it gives it back. */
class SerialConsole extends Duplex {
  readonly #session: Session
  readonly #bytesMax: number
  readonly #alive: NodeJS.Timeout
  #number = 0
  #lastReceived = 0
  #isFull = false
  #sending: { readonly bytes: Buffer; readonly done: (error?: Error | null) => void } | undefined
  #repeat: NodeJS.Timeout | undefined

  constructor(session: Session, bytesMax: number) {
    super()
    this.#session = session
    this.#bytesMax = bytesMax
    this.#alive = setInterval(() => void this.#stayAlive(), ALIVE_MS)
    session.onSerial((content) => this.#receive(content))
  }

  override _read(): void {
    this.#isFull = false
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#sending = { bytes: chunk, done }
    this.#sendNext()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearInterval(this.#alive)
    clearInterval(this.#repeat)
    this.#session.onSerial(() => {})
    void this.#giveBack().finally(() => done(error))
  }

  async #giveBack(): Promise<void> {
    const data = Buffer.from([SERIAL, FIRST_INSTANCE, 0, 0, 0, 0])
    const command = { netFunction: NET_FUNCTIONS.app, code: DEACTIVATE, data }
    // Who has taken it over has it; a BMC that is silent forgets it.
    await this.#session.command(command, AbortSignal.timeout(1_000)).catch(() => undefined)
    await this.#session[Symbol.asyncDispose]()
  }

  #receive(content: Buffer): void {
    const packet = serialPacket(content)
    if (packet === undefined) return
    if (packet.acknowledged !== 0) this.#acknowledged(packet.acknowledged, packet.taken)
    if (packet.number !== 0) this.#take(packet.number, packet.bytes)
    if ((packet.flags & DEACTIVATED) !== 0) this.#lost()
  }

  /** Unread packets are not acknowledged: the BMC keeps them and sends them again. */
  #take(number: number, bytes: Buffer): void {
    const isNew = number !== this.#lastReceived
    if (isNew && this.#isFull) return
    const acknowledgement = { number: 0, acknowledged: number, taken: bytes.length, flags: 0 }
    this.#session.sendSerial(serialContent({ ...acknowledgement, bytes: Buffer.alloc(0) }))
    if (!isNew) return
    this.#lastReceived = number
    this.#isFull = bytes.length > 0 && !this.push(Buffer.from(bytes))
  }

  #acknowledged(number: number, taken: number): void {
    const sending = this.#sending
    // A BMC that took nothing is full: the same is sent again in a while.
    if (sending === undefined || number !== this.#number || taken === 0) return
    clearInterval(this.#repeat)
    this.#sending = { ...sending, bytes: sending.bytes.subarray(taken) }
    this.#sendNext()
  }

  #sendNext(): void {
    const { bytes, done } = this.#sending ?? {}
    if (bytes === undefined) return
    if (bytes.length === 0) {
      this.#sending = undefined
      done?.()
      return
    }
    this.#number = (this.#number % SERIAL_NUMBERS) + 1
    const part = bytes.subarray(0, this.#bytesMax)
    const packet = { number: this.#number, acknowledged: 0, taken: 0, flags: 0, bytes: part }
    let sends = 0
    const send = () => {
      if (sends === SENDS_MAX) return this.#lost()
      sends += 1
      this.#session.sendSerial(serialContent(packet))
    }
    this.#repeat = setInterval(send, REPEAT_MS)
    send()
  }

  async #stayAlive(): Promise<void> {
    const command = { netFunction: NET_FUNCTIONS.app, code: GET_DEVICE_ID }
    try {
      await this.#session.command(command, AbortSignal.timeout(ASK_MS))
    } catch (error) {
      if (!(error instanceof BmcRefusal)) this.#lost()
    }
  }

  /** Bytes that were not sent are lost with it. */
  #lost(): void {
    clearInterval(this.#repeat)
    const unsent = this.#sending
    this.#sending = undefined
    unsent?.done(new Failure('unavailable', 'The machine’s serial console was lost.'))
    if (this.destroyed) return
    this.push(null)
    this.end()
  }
}
