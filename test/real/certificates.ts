import { join } from 'node:path'
import { run } from '#drivers/run.ts'

/** Paths of PEM files. */
export interface Certificates {
  readonly ca: string
  readonly server: Pair
  readonly client: Pair
  /** Of the same name, signed by somebody else. */
  readonly stranger: Pair
}

export interface Pair {
  readonly cert: string
  readonly key: string
}

const MAKE_MS = 20_000
const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']

/** A certificate authority and the certificates that it signs, in a folder. */
export interface Authority {
  readonly ca: string
  /** Signs a certificate of this name. */
  readonly leaf: (name: string, ...more: readonly string[]) => Promise<Pair>
}

/** Afterwards the folder has a certificate authority. */
export async function authority(folder: string): Promise<Authority> {
  const { cert, key } = await make(folder, 'authority')
  const signed = ['-CA', cert, '-CAkey', key, '-addext', 'basicConstraints=critical,CA:FALSE']
  return { ca: cert, leaf: (name, ...more) => make(folder, name, ...signed, ...more) }
}

/** Afterwards the folder has an authority, its certificates for a daemon at 127.0.0.1 and for a client, and a certificate of another authority. */
export async function makeCertificates(folder: string): Promise<Certificates> {
  const { ca, leaf } = await authority(folder)
  return {
    ca,
    server: await leaf('server', '-addext', 'subjectAltName=IP:127.0.0.1'),
    client: await leaf('client'),
    stranger: await make(folder, 'stranger'),
  }
}

async function make(folder: string, name: string, ...more: readonly string[]): Promise<Pair> {
  const pair = { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) }
  const out = ['-out', pair.cert, '-keyout', pair.key, '-subj', `/CN=${name}`]
  await run('openssl', ['req', '-x509', ...EC, ...out, ...more], { timeoutMs: MAKE_MS })
  return pair
}
