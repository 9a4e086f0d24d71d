import { createHmac } from 'node:crypto'

/** IPMI's numbers of the suites spoken here, the stronger first: the others sign or encrypt nothing, or with MD5 or RC4. */
export const CIPHER_SUITE_IDS = [17, 3] as const
export type CipherSuiteId = (typeof CIPHER_SUITE_IDS)[number]

/** Algorithms by their numbers in IPMI 2.0, tables 13-17 to 13-19. */
export interface CipherSuite {
  readonly authentication: number
  readonly integrity: number
  readonly confidentiality: number
  readonly hash: 'sha1' | 'sha256'
  /** Of the hash, in what proves the last step of the handshake and signs every packet. */
  readonly signatureBytes: number
}

const AES_CBC_128 = 1

export const CIPHER_SUITES: Readonly<Record<CipherSuiteId, CipherSuite>> = {
  3: {
    authentication: 1,
    integrity: 1,
    confidentiality: AES_CBC_128,
    hash: 'sha1',
    signatureBytes: 12,
  },
  17: {
    authentication: 3,
    integrity: 4,
    confidentiality: AES_CBC_128,
    hash: 'sha256',
    signatureBytes: 16,
  },
}

/** The suite's keyed hash over the parts in order. */
export function keyedHash(
  { hash }: CipherSuite,
  key: Uint8Array,
  ...parts: readonly Uint8Array[]
): Buffer {
  const hmac = createHmac(hash, key)
  for (const part of parts) hmac.update(part)
  return hmac.digest()
}
