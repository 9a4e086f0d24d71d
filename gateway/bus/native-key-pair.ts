import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { fromSeed, type KeyPair } from '@nats-io/nkeys'

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const BITS_PER_DIGIT = 5
/** Of a seed: what kind of key it is of. */
const PREFIX_BYTES = 2
const KEY_BYTES = 32
/** What comes before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410 §7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

/**
 * The key pair of a seed (`SO…`, `SA…`, `SU…`), signing as nkeys does and natively. The arithmetic of nkeys is
 * JavaScript and begins with the public key each time: making and signing what lets one cell in held a gateway that knows
 * fifty for 120 ms, in which it answered nobody.
 */
export function nativeKeyPair(seed: string): KeyPair {
  const pair = fromSeed(new TextEncoder().encode(seed))
  const key = once(() => privateKeyOf(seed))
  return Object.assign(Object.create(pair) as KeyPair, {
    getPublicKey: once(() => pair.getPublicKey()),
    getPrivateKey: once(() => pair.getPrivateKey()),
    sign: (input: Uint8Array) => sign(null, input, key()),
  })
}

/** A new one, of the kind that nkeys' `create` makes. */
export function newKeyPair(create: () => KeyPair): KeyPair {
  return nativeKeyPair(new TextDecoder().decode(create().getSeed()))
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

function privateKeyOf(seed: string): KeyObject {
  const raw = fromBase32(seed).subarray(PREFIX_BYTES, PREFIX_BYTES + KEY_BYTES)
  const key = Buffer.concat([PKCS8_HEAD, raw])
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' })
}

function fromBase32(text: string): Buffer {
  const bits = Array.from(text, (digit) =>
    BASE32.indexOf(digit).toString(2).padStart(BITS_PER_DIGIT, '0'),
  ).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}
