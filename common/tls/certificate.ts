import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Where a certificate and its private key are, both PEM. */
export interface CertificateFiles {
  readonly certificateFile: string
  readonly keyFile: string
}

/** A server's certificate chain and private key. */
export interface Certificate {
  readonly cert: string
  readonly key: string
  /** The fingerprint by which clients that were given it recognize the server. */
  readonly pin: string
}

/** Throws a plain Error for files that cannot be read, or do not belong together. */
export function readCertificate({ certificateFile, keyFile }: CertificateFiles): Certificate {
  const cert = readFileSync(certificateFile, 'utf8')
  const key = readFileSync(keyFile, 'utf8')
  const parsed = new X509Certificate(cert)
  if (!parsed.checkPrivateKey(createPrivateKey(key)))
    throw new Error(`${keyFile} is not the key of ${certificateFile}`)
  return { cert, key, pin: certificatePin(parsed) }
}

/** SHA-256 of a certificate's public key, base64url: the same for every certificate of that key. */
export function certificatePin({ publicKey }: X509Certificate): string {
  const key = publicKey.export({ type: 'spki', format: 'der' })
  return createHash('sha256').update(key).digest('base64url')
}
