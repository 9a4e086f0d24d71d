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

/** Afterwards the folder has an authority, what it has signed for a daemon at 127.0.0.1 and its user, and a stranger. */
export async function makeCertificates(folder: string): Promise<Certificates> {
  const make = async (name: string, ...more: readonly string[]): Promise<Pair> => {
    const pair = { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) }
    const out = ['-out', pair.cert, '-keyout', pair.key, '-subj', `/CN=${name}`]
    await run('openssl', ['req', '-x509', ...EC, ...out, ...more], { timeoutMs: MAKE_MS })
    return pair
  }
  const authority = await make('authority')
  const signed = ['-CA', authority.cert, '-CAkey', authority.key]
  const leaf = ['-addext', 'basicConstraints=critical,CA:FALSE']
  const address = ['-addext', 'subjectAltName=IP:127.0.0.1']
  return {
    ca: authority.cert,
    server: await make('server', ...signed, ...leaf, ...address),
    client: await make('client', ...signed, ...leaf),
    stranger: await make('stranger'),
  }
}
