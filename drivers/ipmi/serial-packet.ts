/** A packet of a serial console over LAN (IPMI 2.0, 15.9). */
export interface SerialPacket {
  /** 1 to 15; 0: carries no bytes and needs no acknowledgement. */
  readonly number: number
  /** The packet that is acknowledged; 0: none. */
  readonly acknowledged: number
  /** How many bytes of the packet were accepted. */
  readonly taken: number
  readonly flags: number
  readonly bytes: Buffer
}

export const SERIAL_NUMBERS = 15
const HEADER_BYTES = 4

export function serialContent(packet: SerialPacket): Buffer {
  const { number, acknowledged, taken, flags, bytes } = packet
  return Buffer.concat([Buffer.from([number, acknowledged, taken, flags]), bytes])
}

/** Undefined for a packet that is too short. */
export function serialPacket(content: Buffer): SerialPacket | undefined {
  if (content.length < HEADER_BYTES) return undefined
  return {
    number: content.readUInt8(0) & 0x0f,
    acknowledged: content.readUInt8(1) & 0x0f,
    taken: content.readUInt8(2),
    flags: content.readUInt8(3),
    bytes: content.subarray(HEADER_BYTES),
  }
}
