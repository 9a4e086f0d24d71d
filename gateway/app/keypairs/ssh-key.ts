import { execFile } from 'node:child_process'
import { generateKeyPair, hash, type KeyObject, X509Certificate } from 'node:crypto'
import { promisify } from 'node:util'
import { Failure } from '#common/errors.ts'
import type { KeypairType } from '../../db/keypairs.ts'

const BITS = 2048
const CERTIFICATE_DAYS = '3650'
const OPENSSL_LIMIT_MS = 20_000

export interface KeyPair {
  /** In the form of authorized_keys; of type x509, a certificate in PEM. */
  readonly publicKey: string
  /** PEM without a passphrase; of type x509, PKCS #12 in base64, with an empty one. */
  readonly privateKey: string
}

/** A new RSA pair, as Nova makes them; computed off the event loop. */
export async function generateSshKey(): Promise<KeyPair> {
  const pair = await promisify(generateKeyPair)('rsa', { modulusLength: BITS })
  return {
    publicKey: `ssh-rsa ${rsaBlob(pair.publicKey).toString('base64')} Generated-by-Weir`,
    privateKey: pair.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(),
  }
}

/**
 * A new RSA key and a certificate of its own for logins to Windows by it, as Nova makes them (nova/crypto.py,
 * `generate_winrm_x509_cert`). No file ever holds the key: openssl writes it to a pipe.
 */
export async function generateCertificate(userId: string): Promise<KeyPair> {
  const name = userId.replaceAll(/[^\w.-]/g, '_')
  // A name that Windows looks for (szOID_NT_PRINCIPAL_NAME).
  const principal = `otherName:1.3.6.1.4.1.311.20.2.3;UTF8:${name}@localhost`
  const key = ['-newkey', `rsa:${BITS}`, '-nodes', '-keyout', '-', '-config', '/dev/null']
  const asked = ['-x509', '-days', CERTIFICATE_DAYS, '-subj', `/CN=${name}`]
  const extensions = ['extendedKeyUsage=clientAuth', `subjectAltName=${principal}`]
  const added = extensions.flatMap((each) => ['-addext', each])
  const made = (await openssl(['req', ...key, ...asked, ...added])).toString()
  const bundle = await openssl(['pkcs12', '-export', '-password', 'pass:'], made)
  const publicKey = made.slice(made.indexOf('-----BEGIN CERTIFICATE'))
  return { publicKey, privateKey: bundle.toString('base64') }
}

async function openssl(args: readonly string[], input = ''): Promise<Buffer> {
  const options = { encoding: 'buffer', timeout: OPENSSL_LIMIT_MS } as const
  const running = promisify(execFile)('openssl', args, options)
  running.child.stdin?.end(input)
  return (await running).stdout
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

/** Of keys that OpenSSH can be given in authorized_keys. */
const SSH_TYPE =
  /^(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp(?:256|384|521)|sk-(?:ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com)$/
/** One line: a second one would be a second key, or an option, in a guest's authorized_keys. */
const SSH_KEY =
  /^(?<type>[a-z0-9@.-]+)[ \t]+(?<blob>[A-Za-z0-9+/]+={0,2})(?:[ \t][\t\P{Cc}]*)?\r?\n?$/u

/**
 * The fingerprint as Nova writes it: MD5 of an SSH key's blob, SHA-1 of a certificate, hexadecimal pairs with colons.
 * Throws `invalid` when the text is not a public key of the type.
 */
export function publicKeyFingerprint(type: KeypairType, publicKey: string): string {
  const fingerprint = type === 'ssh' ? sshFingerprint(publicKey) : x509Fingerprint(publicKey)
  if (fingerprint !== undefined) return fingerprint
  throw new Failure('invalid', 'Keypair data is invalid: failed to generate fingerprint')
}

function sshFingerprint(text: string): string | undefined {
  const parts = SSH_KEY.exec(text)?.groups
  if (parts === undefined || !SSH_TYPE.test(parts['type']!)) return undefined
  const blob = Buffer.from(parts['blob']!, 'base64')
  const fields = sshFields(blob)
  if (fields === undefined || fields.length < 2) return undefined
  if (fields[0]!.toString('latin1') !== parts['type']) return undefined
  return hash('md5', blob, 'hex').replaceAll(/..(?=.)/g, '$&:')
}

/** The length-prefixed strings a key blob is made of (RFC 4253 §6.6); undefined when it is not made so. */
function sshFields(blob: Buffer): readonly Buffer[] | undefined {
  const fields: Buffer[] = []
  let at = 0
  while (at + 4 <= blob.length) {
    const end = at + 4 + blob.readUInt32BE(at)
    if (end > blob.length) return undefined
    fields.push(blob.subarray(at + 4, end))
    at = end
  }
  return at === blob.length ? fields : undefined
}

function x509Fingerprint(text: string): string | undefined {
  try {
    return new X509Certificate(text).fingerprint.toLowerCase()
  } catch {
    return undefined
  }
}
