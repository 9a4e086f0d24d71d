import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { fromSeed, type KeyPair } from '@nats-io/nkeys'

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const BITS_PER_DIGIT = 5
/** The prefix of a seed, which says the type of its key. */
const PREFIX_BYTES = 2
const KEY_BYTES = 32
/** The bytes before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410 §7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')
/** The same of a public one (RFC 8410 §4). */
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex')
/** A public nkey as text: a byte that says of what kind it is, the key, and a checksum. */
const PUBLIC_KEY = /^[A-Z2-7]{56}$/

/** Before a private key (`P…`). */
const PRIVATE_PREFIX = 15 << 3
const CRC_POLYNOMIAL = 0x1021

/**
 * The key pair of a seed (`SO…`, `SA…`, `SU…`), signing as nkeys does and natively. The arithmetic of nkeys is
 * JavaScript and derives the public key each time: the signatures for one new cell kept a gateway that knows fifty
 * busy for 120 ms, in which it answered no request.
 */
export function nativeKeyPair(seed: string): KeyPair {
  const pair = fromSeed(new TextEncoder().encode(seed))
  const key = once(() => privateKeyOf(seed))
  const publicBytes = once(() => publicBytesOf(key()))
  return Object.assign(Object.create(pair) as KeyPair, {
    getPublicKey: once(() => textOf(kindOf(seed), publicBytes())),
    getPrivateKey: once(() =>
      new TextEncoder().encode(
        textOf(PRIVATE_PREFIX, Buffer.concat([rawSeedOf(seed), publicBytes()])),
      ),
    ),
    sign: (input: Uint8Array) => sign(null, input, key()),
  })
}

/** A new one, of the kind that nkeys' `create` makes. */
export function newKeyPair(create: () => KeyPair): KeyPair {
  return nativeKeyPair(new TextDecoder().decode(create().getSeed()))
}

/** True if the private key of this public nkey made the signature. False also for text that is not such a key. */
export function verifyWithKey(publicKey: string, data: Uint8Array, signature: Uint8Array): boolean {
  if (!PUBLIC_KEY.test(publicKey)) return false
  const raw = fromBase32(publicKey).subarray(1, 1 + KEY_BYTES)
  const key = Buffer.concat([SPKI_HEAD, raw])
  return verify(null, data, createPublicKey({ key, format: 'der', type: 'spki' }), signature)
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

function privateKeyOf(seed: string): KeyObject {
  const key = Buffer.concat([PKCS8_HEAD, rawSeedOf(seed)])
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' })
}

function rawSeedOf(seed: string): Buffer {
  return fromBase32(seed).subarray(PREFIX_BYTES, PREFIX_BYTES + KEY_BYTES)
}

function publicBytesOf(key: KeyObject): Buffer {
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(SPKI_HEAD.length)
}

/** The prefix of the public key: a seed has it in the last three bits of its first byte and the first five of its second. */
function kindOf(seed: string): number {
  const [first = 0, second = 0] = fromBase32(seed)
  return ((first & 7) << 5) | (second >> 3)
}

/** As nkeys writes it: a byte that says of what kind it is, the key, and a checksum, in base 32. */
function textOf(kind: number, key: Buffer): string {
  const bytes = Buffer.concat([Buffer.of(kind), key])
  const checksum = Buffer.alloc(2)
  checksum.writeUInt16LE(crc16(bytes))
  return toBase32(Buffer.concat([bytes, checksum]))
}

/** CRC-16 as in XMODEM. */
function crc16(bytes: Buffer): number {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit += 1)
      crc = ((crc << 1) ^ (crc & 0x8000 ? CRC_POLYNOMIAL : 0)) & 0xffff
  }
  return crc
}

function toBase32(bytes: Buffer): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  const digits = bits.match(/.{1,5}/g) ?? []
  return digits
    .map((digit) => BASE32[Number.parseInt(digit.padEnd(BITS_PER_DIGIT, '0'), 2)])
    .join('')
}

function fromBase32(text: string): Buffer {
  const bits = Array.from(text, (digit) =>
    BASE32.indexOf(digit).toString(2).padStart(BITS_PER_DIGIT, '0'),
  ).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}
