/**
 * One message of libvirt's RPC (libvirt: docs/kbase/internals/rpc.rst): a length word that counts itself, six
 * header words, and a body in XDR.
 */
export interface Packet {
  readonly program: number
  readonly procedure: number
  readonly type: number
  readonly serial: number
  readonly status: number
  readonly body: Buffer
}

export const PROGRAMS = { remote: 0x20008086, qemu: 0x20008087, keepalive: 0x6b656570 } as const
export const PACKET_TYPES = { call: 0, reply: 1, message: 2, stream: 3 } as const
export const PACKET_STATUSES = { ok: 0, error: 1, continue: 2 } as const

const VERSION = 1
const HEADER_BYTES = 28
/** VIR_NET_MESSAGE_MAX, the longest message libvirt sends, and its length word. */
const PACKET_BYTES_MAX = 33_554_432 + 4

export function encodePacket(packet: Packet): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt32BE(HEADER_BYTES + packet.body.length, 0)
  header.writeUInt32BE(packet.program, 4)
  header.writeUInt32BE(VERSION, 8)
  header.writeInt32BE(packet.procedure, 12)
  header.writeUInt32BE(packet.type, 16)
  header.writeUInt32BE(packet.serial, 20)
  header.writeUInt32BE(packet.status, 24)
  return Buffer.concat([header, packet.body])
}

/** Cuts a byte stream into packets. Throws on a length no packet can have, after which the stream is useless. */
export class PacketFramer {
  #chunks: Buffer[] = []
  #length = 0

  push(chunk: Buffer): Packet[] {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    const packets: Packet[] = []
    for (let size = this.#nextSize(); size !== undefined; size = this.#nextSize()) {
      packets.push(decodePacket(this.#take(size)))
    }
    return packets
  }

  /** The length of the first packet when it has arrived completely. */
  #nextSize(): number | undefined {
    if (this.#length < 4) return undefined
    if (this.#chunks[0]!.length < 4) this.#chunks = [Buffer.concat(this.#chunks)]
    const size = this.#chunks[0]!.readUInt32BE(0)
    if (size < HEADER_BYTES || size > PACKET_BYTES_MAX)
      throw new RangeError(`a packet of ${size} bytes`)
    return this.#length < size ? undefined : size
  }

  #take(size: number): Buffer {
    const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
    const rest = all.subarray(size)
    this.#chunks = rest.length === 0 ? [] : [rest]
    this.#length = rest.length
    return all.subarray(0, size)
  }
}

function decodePacket(bytes: Buffer): Packet {
  return {
    program: bytes.readUInt32BE(4),
    procedure: bytes.readInt32BE(12),
    type: bytes.readUInt32BE(16),
    serial: bytes.readUInt32BE(20),
    status: bytes.readUInt32BE(24),
    body: bytes.subarray(HEADER_BYTES),
  }
}
