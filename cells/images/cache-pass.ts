import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto'
import { Failure } from '#common/errors.ts'
import type { ImageFile } from '#openapi/wire/instance.ts'

/** What a pass is for: this content alone. */
export type PassedImage = Pick<ImageFile, 'id' | 'sha256' | 'sizeBytes'>
/** What a pass of the cell's own processes is for: the images that a cache keeps for a server. */
export interface PassedPins {
  readonly serverId: string
}

/** `v1.<expiry, ms since the epoch>.<HMAC-SHA-256, base64url>` */
const PASS = /^v1\.(\d{1,15})\.([A-Za-z0-9_-]{43})$/
const KEY_BYTES = 32

/** The key for passes alone, derived from the secret that the cell's processes share (RFC 5869). */
export function passKey(secretHex: string): KeyObject {
  const secret = Buffer.from(secretHex, 'hex')
  const key = hkdfSync('sha256', secret, '', 'weir image cache passes', KEY_BYTES)
  return createSecretKey(new Uint8Array(key))
}

/** A bearer proof that its holder may read this image, or change these pins, in the cell's caches until then. */
export function issuePass(
  key: KeyObject,
  subject: PassedImage | PassedPins,
  expiresAtMs: number,
): string {
  return `v1.${expiresAtMs}.${macOf(key, subject, expiresAtMs).toString('base64url')}`
}

/** Throws `unauthenticated` unless the pass is genuine, for this image or these pins, and in time. */
export function checkPass(
  key: KeyObject,
  subject: PassedImage | PassedPins,
  pass: string,
  nowMs: number,
): void {
  const [, expiry, mac] = PASS.exec(pass) ?? []
  if (expiry === undefined || mac === undefined) throw refused()
  const genuine = macOf(key, subject, Number(expiry))
  if (!timingSafeEqual(genuine, Buffer.from(mac, 'base64url'))) throw refused()
  if (Number(expiry) <= nowMs) throw refused()
}

function macOf(key: KeyObject, subject: PassedImage | PassedPins, expiresAtMs: number) {
  const what =
    'serverId' in subject
      ? `pins\n${subject.serverId}`
      : `${subject.id}\n${subject.sha256}\n${subject.sizeBytes}`
  return createHmac('sha256', key).update(`v1\n${what}\n${expiresAtMs}`).digest()
}

function refused(): Failure {
  return new Failure('unauthenticated', 'The pass is not valid for this request.')
}
