/** The header of each protocol data unit (RFC 7143, 11.2). */
const HEADER_BYTES = 48
/** More than any answer to the few blocks that are read. */
const DATA_BYTES_MAX = 1024 ** 2

export const OPCODES = {
  nopOut: 0x00,
  command: 0x01,
  login: 0x03,
  dataOut: 0x05,
  logout: 0x06,
  nopIn: 0x20,
  response: 0x21,
  loginResponse: 0x23,
  dataIn: 0x25,
  logoutResponse: 0x26,
  readyToTransfer: 0x31,
} as const

/** In the first byte: the unit is not one of the numbered commands. */
export const IMMEDIATE = 0x40
/** In the second byte: the last unit of its kind. */
export const FINAL = 0x80
/** A tag that names nothing. */
export const NO_TAG = 0xffffffff

/** A protocol data unit of iSCSI. Its opcode has no flags. */
export interface Pdu {
  readonly opcode: number
  readonly header: Buffer
  readonly data: Buffer
}

/** A header with the opcode, for its sender to fill in. */
export function newHeader(opcode: number, flags: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header[0] = opcode
  header[1] = flags
  return header
}

/** The bytes of a unit as they are sent: the data is padded to whole words. */
export function encodePdu(header: Buffer, data: Buffer = Buffer.alloc(0)): Buffer {
  header.writeUIntBE(data.length, 5, 3)
  return Buffer.concat([header, data, Buffer.alloc(padding(data.length))])
}

/** Finds the units in a stream of bytes. */
export class PduFramer {
  #bytes = Buffer.alloc(0)

  /** The units that are whole with these bytes. Throws for one that is longer than any that was asked for. */
  push(chunk: Buffer): readonly Pdu[] {
    this.#bytes = Buffer.concat([this.#bytes, chunk])
    const found: Pdu[] = []
    while (this.#bytes.length >= HEADER_BYTES) {
      const additional = this.#bytes[4]! * 4
      const length = this.#bytes.readUIntBE(5, 3)
      if (length > DATA_BYTES_MAX) throw new Error(`a unit of ${length} bytes`)
      const start = HEADER_BYTES + additional
      const end = start + length + padding(length)
      if (this.#bytes.length < end) break
      const header = this.#bytes.subarray(0, HEADER_BYTES)
      const data = this.#bytes.subarray(start, start + length)
      found.push({ opcode: header[0]! & 0x3f, header, data })
      this.#bytes = this.#bytes.subarray(end)
    }
    return found
  }
}

function padding(bytes: number): number {
  return (4 - (bytes % 4)) % 4
}
