import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'

const BITS = 2048

export interface SshKeyPair {
  /** In the form of authorized_keys. */
  readonly publicKey: string
  /** PEM, without a passphrase. */
  readonly privateKey: string
}

/** A new RSA pair, as Nova makes them; computed off the event loop. */
export async function generateSshKey(): Promise<SshKeyPair> {
  const pair = await promisify(generateKeyPair)('rsa', { modulusLength: BITS })
  return {
    publicKey: `ssh-rsa ${rsaBlob(pair.publicKey).toString('base64')} Generated-by-Weir`,
    privateKey: pair.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(),
  }
}

/** RFC 4253 §6.6: the name, the exponent and the modulus. */
function rsaBlob(key: KeyObject): Buffer {
  const { e = '', n = '' } = key.export({ format: 'jwk' })
  const numbers = [e, n].map((part) => positive(Buffer.from(part, 'base64url')))
  return Buffer.concat([Buffer.from('ssh-rsa'), ...numbers].map(field))
}

/** A leading zero keeps a number with its top bit set from being read as negative (RFC 4251 §5, mpint). */
function positive(number: Buffer): Buffer {
  return number[0]! & 0x80 ? Buffer.concat([Buffer.of(0), number]) : number
}

function field(content: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(content.length)
  return Buffer.concat([length, content])
}
