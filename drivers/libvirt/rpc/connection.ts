import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import pLimit from 'p-limit'
import { Failure } from '#common/errors.ts'
import { abortable } from '../../abortable.ts'
import { type DialTarget, dial } from './dial.ts'
import {
  encodePacket,
  PACKET_STATUSES,
  PACKET_TYPES,
  type Packet,
  PacketFramer,
  PROGRAMS,
} from './packet.ts'
import { KEEPALIVE, type Procedure, type QemuProcedure } from './procedures.ts'
import { remoteFailure } from './remote-failure.ts'
import { RpcStream } from './rpc-stream.ts'
import { XdrReader } from './xdr-reader.ts'

/** libvirtd's default `max_client_requests`: beyond it the daemon stops reading, pings included. */
const IN_FLIGHT_MAX = 5
const WAITING_MAX = 1_000
/** Longer than libvirt waits for a busy domain (30 s) or for a guest that will not die (about 15 s). */
const CALL_TIMEOUT_MS = 60_000
/** The daemon pings after 5 s without traffic, so this much silence means that it is gone. */
const RESPONSE_TIMEOUT_MS = 30_000

interface Pending {
  readonly resolve: (answer: XdrReader) => void
  readonly reject: (error: Error) => void
}

interface ConnectionOptions {
  /** Null where the daemon is not asked to ping, so that silence means nothing. */
  readonly responseTimeoutMs?: number | null
  readonly callTimeoutMs?: number
}

export type MessageListener = (procedure: number, body: XdrReader) => void

/**
 * One connection to a libvirt daemon. Calls overlap up to what the daemon takes. Once it is closed, by whomever,
 * every open and later call throws `unavailable`; a new connection is somebody else's decision.
 */
export class RpcConnection implements Disposable {
  readonly #socket: Socket
  readonly #framer = new PacketFramer()
  readonly #pending = new Map<number, Pending>()
  readonly #limit = pLimit(IN_FLIGHT_MAX)
  readonly #silence: NodeJS.Timeout | undefined
  readonly #callTimeoutMs: number
  readonly #onMessage: MessageListener
  #serial = 0
  #stream: RpcStream | undefined
  #failure: Failure | undefined
  #onClose: (() => void) | undefined

  private constructor(
    socket: Socket,
    onMessage: MessageListener,
    { responseTimeoutMs = RESPONSE_TIMEOUT_MS, callTimeoutMs = CALL_TIMEOUT_MS }: ConnectionOptions,
  ) {
    this.#callTimeoutMs = callTimeoutMs
    this.#socket = socket
    this.#onMessage = onMessage
    if (responseTimeoutMs !== null)
      this.#silence = setTimeout(() => this.#close('it does not answer'), responseTimeoutMs).unref()
    socket.on('data', (chunk) => this.#receive(chunk))
    socket.on('error', (error) => this.#close(error.message))
    socket.on('close', () => this.#close('it hung up'))
  }

  /** Connects; throws `unavailable` when no daemon answers in time. The remote side has not authenticated this one yet. */
  static async open(
    address: DialTarget,
    onMessage: MessageListener,
    options: ConnectionOptions = {},
  ): Promise<RpcConnection> {
    const socket = await dial(address).catch((cause: unknown) => {
      throw new Failure('unavailable', 'The hypervisor cannot be reached.', { cause })
    })
    return new RpcConnection(socket, onMessage, options)
  }

  get closed(): boolean {
    return this.#failure !== undefined
  }

  /** Calls `listener` once, when the connection ends; at once when it already has. */
  onClose(listener: () => void): void {
    if (this.closed) listener()
    else this.#onClose = listener
  }

  /**
   * Calls a procedure and waits for its answer. An aborted wait throws the signal's reason; the call itself cannot
   * be taken back and keeps its place until the daemon has answered.
   */
  async call(procedure: Procedure, args: Buffer, signal?: AbortSignal): Promise<XdrReader> {
    return this.#call(PROGRAMS.remote, procedure, args, signal)
  }

  /** The same for a procedure of QEMU's own program. */
  async callQemu(procedure: QemuProcedure, args: Buffer, signal: AbortSignal): Promise<XdrReader> {
    return this.#call(PROGRAMS.qemu, procedure, args, signal)
  }

  async #call(
    program: number,
    procedure: number,
    args: Buffer,
    signal?: AbortSignal,
  ): Promise<XdrReader> {
    signal?.throwIfAborted()
    if (this.#limit.pendingCount >= WAITING_MAX)
      throw new Failure('unavailable', 'The hypervisor is too busy.')
    const answer = this.#limit(() => {
      signal?.throwIfAborted()
      return this.#send(program, procedure, args)
    })
    return signal === undefined ? await answer : await abortable(answer, signal)
  }

  /** Calls a procedure that opens a stream, the only one of this connection; destroying it closes the connection. */
  async openStream(procedure: Procedure, args: Buffer, signal: AbortSignal): Promise<Duplex> {
    // Its bytes may come with the answer.
    const serial = (this.#serial + 1) >>> 0
    const stream = new RpcStream({
      send: (body, sent) => {
        const { remote: program } = PROGRAMS
        const { stream: type } = PACKET_TYPES
        const { continue: status } = PACKET_STATUSES
        this.#socket.write(encodePacket({ program, procedure, type, serial, status, body }), sent)
      },
      flow: (isWanted) => (isWanted ? this.#socket.resume() : this.#socket.pause()),
      hangUp: () => this.#close('it was hung up here'),
    })
    this.#stream = stream
    await this.call(procedure, args, signal)
    return stream
  }

  [Symbol.dispose](): void {
    this.#close('it was closed here')
  }

  async #send(program: number, procedure: number, body: Buffer): Promise<XdrReader> {
    if (this.#failure !== undefined) throw this.#failure
    this.#serial = (this.#serial + 1) >>> 0
    const serial = this.#serial
    const timer = setTimeout(
      () => this.#close(`procedure ${procedure} took too long`),
      this.#callTimeoutMs,
    ).unref()
    try {
      return await new Promise<XdrReader>((resolve, reject) => {
        this.#pending.set(serial, { resolve, reject })
        this.#write({ program, procedure, type: PACKET_TYPES.call, serial, body })
      })
    } finally {
      clearTimeout(timer)
      this.#pending.delete(serial)
    }
  }

  #write(packet: Omit<Packet, 'status'>): void {
    this.#socket.write(encodePacket({ ...packet, status: PACKET_STATUSES.ok }))
  }

  #receive(chunk: Buffer): void {
    this.#silence?.refresh()
    try {
      for (const packet of this.#framer.push(chunk)) this.#dispatch(packet)
    } catch (error) {
      this.#close(`it broke the protocol: ${(error as Error).message}`)
    }
  }

  #dispatch(packet: Packet): void {
    if (packet.program === PROGRAMS.keepalive) this.#pong(packet)
    else if (packet.type === PACKET_TYPES.reply) this.#answer(packet)
    else if (packet.type === PACKET_TYPES.stream) this.#receiveOfStream(packet)
    else if (packet.type === PACKET_TYPES.message)
      this.#onMessage(packet.procedure, new XdrReader(packet.body))
  }

  #pong({ procedure }: Packet): void {
    if (procedure !== KEEPALIVE.ping) return
    const pong = { procedure: KEEPALIVE.pong, type: PACKET_TYPES.message, serial: 0 }
    this.#write({ program: PROGRAMS.keepalive, ...pong, body: Buffer.alloc(0) })
  }

  #answer({ procedure, serial, status, body }: Packet): void {
    const pending = this.#pending.get(serial)
    if (status === PACKET_STATUSES.ok) pending?.resolve(new XdrReader(body))
    else pending?.reject(remoteFailure(procedure, new XdrReader(body)))
  }

  #receiveOfStream({ status, body }: Packet): void {
    if (status === PACKET_STATUSES.continue) this.#stream?.receive(body)
    else this.#close('the stream has ended')
  }

  #close(why: string): void {
    if (this.#failure !== undefined) return
    this.#failure = new Failure('unavailable', 'The connection to the hypervisor was lost.', {
      detail: why,
    })
    clearTimeout(this.#silence)
    this.#socket.destroy()
    for (const { reject } of this.#pending.values()) reject(this.#failure)
    this.#stream?.lost()
    this.#onClose?.()
  }
}
