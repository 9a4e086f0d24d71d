import net from 'node:net'
import { Failure } from '#common/errors.ts'

/** Of the OpenFlow 1.0 specification, section 5: every release of Open vSwitch understands this version. */
const VERSION = 1
const HEADER_BYTES = 8
const MATCH_BYTES = 40
const TYPES = {
  hello: 0,
  error: 1,
  echoRequest: 2,
  echoReply: 3,
  packetOut: 13,
  flowMod: 14,
  statsRequest: 16,
  statsReply: 17,
  barrierRequest: 18,
  barrierReply: 19,
} as const
const NO_BUFFER = 0xffffffff
const NO_PORT = 0xffff
/** Of an action: what the flows of the bridge do with the frame. */
const BY_FLOWS = 0xfff9
const ALL_TABLES = 0xff
const AGGREGATE = 2
const CONNECT_LIMIT_MS = 2_000
const ANSWER_LIMIT_MS = 5_000
/** In a match: all fields but the destination and the type of the frame may be anything. */
const DESTINATION_AND_TYPE = ((1 << 22) - 1) & ~((1 << 3) | (1 << 4))

/** Frames by their destination and type. */
export interface FrameMatch {
  /** Six bytes. */
  readonly destination: Buffer
  readonly type: number
}

/** The flows and packets of one bridge of Open vSwitch, over its management socket. */
export class OpenFlowBridge implements Disposable {
  readonly #socket: net.Socket
  readonly #waiting = new Map<number, PromiseWithResolvers<Buffer>>()
  #received: Buffer = Buffer.alloc(0)
  #nextId = 1

  private constructor(socket: net.Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      const lost = new Failure('unavailable', 'Open vSwitch closed the connection to its bridge.')
      for (const { reject } of this.#waiting.values()) reject(lost)
      this.#waiting.clear()
    })
    this.#send(TYPES.hello, Buffer.alloc(0))
  }

  /** Throws `unavailable` if nothing listens at the path. */
  static async open(path: string): Promise<OpenFlowBridge> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const socket = net.connect({ path, timeout: CONNECT_LIMIT_MS }, resolve)
    socket.once('timeout', () => reject(new Error('timeout')))
    socket.once('error', reject)
    try {
      await promise
    } catch (cause) {
      socket.destroy()
      throw new Failure('unavailable', `Open vSwitch has no bridge at ${path}.`, { cause })
    }
    socket.setTimeout(0)
    socket.removeAllListeners('error')
    return new OpenFlowBridge(socket)
  }

  /** Afterwards such frames are counted and dropped, whichever port they come in by. */
  countFrames(match: FrameMatch): void {
    const rest = Buffer.alloc(24)
    const priority = 1
    rest.writeUInt16BE(priority, 14)
    rest.writeUInt32BE(NO_BUFFER, 16)
    rest.writeUInt16BE(NO_PORT, 20)
    this.#send(TYPES.flowMod, Buffer.concat([matchBytes(match), rest]))
  }

  /** How many such frames came since they are counted. */
  async framesCounted(match: FrameMatch): Promise<bigint> {
    const kind = Buffer.from([0, AGGREGATE, 0, 0])
    const rest = Buffer.from([ALL_TABLES, 0, NO_PORT >> 8, NO_PORT & 0xff])
    const body = Buffer.concat([kind, matchBytes(match), rest])
    const answer = await this.#ask(TYPES.statsRequest, body)
    return answer.readBigUInt64BE(HEADER_BYTES + kind.length)
  }

  /** Sends the frame out by a port of the bridge. */
  sendFrame(frame: Buffer, port: number): void {
    this.#packetOut(frame, { from: NO_PORT, to: port })
  }

  /** Afterwards the bridge does with the frame what it does with one that comes in by this port. */
  receiveFrame(frame: Buffer, port: number): void {
    this.#packetOut(frame, { from: port, to: BY_FLOWS })
  }

  /** Resolves once the bridge has done everything that was asked of it before. */
  async settled(): Promise<void> {
    await this.#ask(TYPES.barrierRequest, Buffer.alloc(0))
  }

  #packetOut(frame: Buffer, { from, to }: { readonly from: number; readonly to: number }): void {
    const head = Buffer.alloc(16)
    head.writeUInt32BE(NO_BUFFER, 0)
    head.writeUInt16BE(from, 4)
    const actionBytes = 8
    head.writeUInt16BE(actionBytes, 6)
    head.writeUInt16BE(actionBytes, 10)
    head.writeUInt16BE(to, 12)
    this.#send(TYPES.packetOut, Buffer.concat([head, frame]))
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }

  async #ask(type: number, body: Buffer): Promise<Buffer> {
    const answer = Promise.withResolvers<Buffer>()
    const id = this.#send(type, body)
    this.#waiting.set(id, answer)
    const limit = setTimeout(
      () => answer.reject(new Failure('unavailable', 'Open vSwitch does not answer.')),
      ANSWER_LIMIT_MS,
    )
    try {
      return await answer.promise
    } finally {
      clearTimeout(limit)
      this.#waiting.delete(id)
    }
  }

  #send(type: number, body: Buffer, id = this.#nextId++): number {
    const header = Buffer.alloc(HEADER_BYTES)
    header.writeUInt8(VERSION, 0)
    header.writeUInt8(type, 1)
    header.writeUInt16BE(HEADER_BYTES + body.length, 2)
    header.writeUInt32BE(id, 4)
    this.#socket.write(Buffer.concat([header, body]))
    return id
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk])
    while (this.#received.length >= HEADER_BYTES) {
      const length = this.#received.readUInt16BE(2)
      if (length < HEADER_BYTES) return void this.#socket.destroy()
      if (this.#received.length < length) return
      const message = this.#received.subarray(0, length)
      this.#received = this.#received.subarray(length)
      this.#take(message)
    }
  }

  #take(message: Buffer): void {
    const type = message.readUInt8(1)
    const id = message.readUInt32BE(4)
    if (type === TYPES.echoRequest) this.#send(TYPES.echoReply, message.subarray(HEADER_BYTES), id)
    if (type === TYPES.statsReply || type === TYPES.barrierReply)
      this.#waiting.get(id)?.resolve(message)
    if (type === TYPES.error) {
      const code = message.subarray(HEADER_BYTES, HEADER_BYTES + 4).toString('hex')
      this.#waiting
        .get(id)
        ?.reject(new Failure('internal', `Open vSwitch refused a request: OpenFlow error ${code}.`))
    }
  }
}

function matchBytes({ destination, type }: FrameMatch): Buffer {
  const match = Buffer.alloc(MATCH_BYTES)
  match.writeUInt32BE(DESTINATION_AND_TYPE, 0)
  destination.copy(match, 12)
  match.writeUInt16BE(type, 22)
  return match
}
