import { createCipheriv, createDecipheriv, timingSafeEqual } from 'node:crypto'
import { keyedHash } from './cipher-suites.ts'
import type { SessionKeys } from './rakp.ts'

/** Kinds of content, IPMI 2.0, table 13-16. */
export const PAYLOADS = {
  command: 0x00,
  serial: 0x01,
  openRequest: 0x10,
  openAnswer: 0x11,
  rakp1: 0x12,
  rakp2: 0x13,
  rakp3: 0x14,
  rakp4: 0x15,
} as const

/** One datagram of RMCP+. */
export interface Packet {
  readonly payload: number
  /** The receiver's number of the session; 0 before there is one. */
  readonly session: number
  /** Counts up in a session; 0 before there is one. */
  readonly sequence: number
  readonly content: Buffer
}

/** Version 1.0 of RMCP, no acknowledgement wanted, class IPMI. */
const RMCP_HEADER = Buffer.from([0x06, 0x00, 0xff, 0x07])
const RMCP_PLUS = 0x06
const SIGNED_AND_ENCRYPTED = 0xc0
const PAYLOAD_MASK = 0x3f
const HEADER_BYTES = 16
const NEXT_HEADER = 0x07
const BLOCK_BYTES = 16

/** A packet as it is sent before there is a session. */
export function plainDatagram(packet: Packet): Buffer {
  return Buffer.concat([RMCP_HEADER, sessionPart(packet, packet.payload, packet.content)])
}

/** The packet in a datagram from before there was a session; undefined for anything else. */
export function plainPacket(datagram: Buffer): Packet | undefined {
  const flags = flagsOf(datagram)
  if (flags === undefined || (flags & SIGNED_AND_ENCRYPTED) !== 0) return undefined
  return packetOf(datagram, flags, contentOf(datagram))
}

/** A packet of a session: encrypted with AES in CBC mode under `iv`, 16 random bytes, then signed. */
export function sealedDatagram(packet: Packet, keys: SessionKeys, iv: Uint8Array): Buffer {
  const flags = packet.payload | SIGNED_AND_ENCRYPTED
  const part = sessionPart(packet, flags, encrypted(packet.content, keys, iv))
  // Signed bytes fill whole words; the length of the padding is signed with them.
  const filling = (4 - ((part.length + 2) % 4)) % 4
  const trailer = Buffer.from([...Buffer.alloc(filling, 0xff), filling, NEXT_HEADER])
  const signed = Buffer.concat([part, trailer])
  return Buffer.concat([RMCP_HEADER, signed, signature(signed, keys)])
}

/** The packet in a session's datagram; undefined for one that is not encrypted and signed with these keys. */
export function unsealedPacket(datagram: Buffer, keys: SessionKeys): Packet | undefined {
  const flags = flagsOf(datagram)
  if (flags === undefined || (flags & SIGNED_AND_ENCRYPTED) !== SIGNED_AND_ENCRYPTED)
    return undefined
  const end = datagram.length - keys.suite.signatureBytes
  if (end < HEADER_BYTES + 2) return undefined
  const expected = signature(datagram.subarray(RMCP_HEADER.length, end), keys)
  if (!timingSafeEqual(expected, datagram.subarray(end))) return undefined
  const content = decrypted(contentOf(datagram), keys)
  return content === undefined ? undefined : packetOf(datagram, flags, content)
}

/** The sequence and kind of a packet; undefined for bytes that are no RMCP+ or are cut off. */
function flagsOf(datagram: Buffer): number | undefined {
  const isRmcpPlus =
    datagram.length >= HEADER_BYTES && datagram[3] === 7 && datagram[4] === RMCP_PLUS
  if (!isRmcpPlus || HEADER_BYTES + datagram.readUInt16LE(14) > datagram.length) return undefined
  return datagram[5]
}

function packetOf(datagram: Buffer, flags: number, content: Buffer): Packet {
  return {
    payload: flags & PAYLOAD_MASK,
    session: datagram.readUInt32LE(6),
    sequence: datagram.readUInt32LE(10),
    content,
  }
}

function contentOf(datagram: Buffer): Buffer {
  return datagram.subarray(HEADER_BYTES, HEADER_BYTES + datagram.readUInt16LE(14))
}

function sessionPart({ session, sequence }: Packet, flags: number, content: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES - RMCP_HEADER.length)
  header[0] = RMCP_PLUS
  header[1] = flags
  header.writeUInt32LE(session, 2)
  header.writeUInt32LE(sequence, 6)
  header.writeUInt16LE(content.length, 10)
  return Buffer.concat([header, content])
}

function signature(signed: Uint8Array, { suite, integrity }: SessionKeys): Buffer {
  return keyedHash(suite, integrity, signed).subarray(0, suite.signatureBytes)
}

/** IPMI fills the last block in its own way: 1, 2, 3 … and then how many there were. */
function encrypted(content: Buffer, { encryption }: SessionKeys, iv: Uint8Array): Buffer {
  const filling = (BLOCK_BYTES - ((content.length + 1) % BLOCK_BYTES)) % BLOCK_BYTES
  const counted = Array.from({ length: filling }, (_, index) => index + 1)
  const cipher = createCipheriv('aes-128-cbc', encryption, iv).setAutoPadding(false)
  const filled = Buffer.concat([content, Buffer.from([...counted, filling])])
  return Buffer.concat([iv, cipher.update(filled), cipher.final()])
}

function decrypted(content: Buffer, { encryption }: SessionKeys): Buffer | undefined {
  if (content.length < 2 * BLOCK_BYTES || content.length % BLOCK_BYTES !== 0) return undefined
  const iv = content.subarray(0, BLOCK_BYTES)
  const decipher = createDecipheriv('aes-128-cbc', encryption, iv).setAutoPadding(false)
  const filled = Buffer.concat([decipher.update(content.subarray(BLOCK_BYTES)), decipher.final()])
  const end = filled.length - 1 - (filled.at(-1) ?? 0)
  return end < 0 ? undefined : filled.subarray(0, end)
}
