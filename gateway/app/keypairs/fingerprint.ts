import { hash, X509Certificate } from 'node:crypto'
import { Failure } from '#common/errors.ts'
import type { KeypairType } from '../../db/keypairs.ts'

/** Of keys that OpenSSH can be given in authorized_keys. */
const SSH_TYPE =
  /^(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp(?:256|384|521)|sk-(?:ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com)$/
/** One line: a second one would be a second key, or an option, in a guest's authorized_keys. */
const SSH_KEY =
  /^(?<type>[a-z0-9@.-]+)[ \t]+(?<blob>[A-Za-z0-9+/]+={0,2})(?:[ \t][\t\P{Cc}]*)?\r?\n?$/u

/**
 * The fingerprint as Nova writes it: MD5 of an SSH key's blob, SHA-1 of a certificate, hexadecimal pairs with colons.
 * Throws `invalid` when the text is no public key of the type.
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
