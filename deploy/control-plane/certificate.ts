import { createPrivateKey, X509Certificate } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { systemClock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import { makeSelfSigned } from '../machine/self-signed.ts'
import { type ControlPlane, existingControlPlane, FILES, type Folders } from './control-plane.ts'
import { authorityIn, certificateNames, issuerIn } from './shared-files.ts'

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
/** Extended key usages: each service serves its certificate, and shows it to the others. */
const USAGES = { serverAuth: '1.3.6.1.5.5.7.3.1', clientAuth: '1.3.6.1.5.5.7.3.2' } as const
/** HAProxy's own copy of certificate and key, where its configuration was made when it had one. */
const PROXY_COPY = 'haproxy.pem'
const SECRET = 0o600

/**
 * Afterwards the folder has a new certificate for all machines, with its key, which nothing uses yet. It has the same kind
 * of authority as the present one. Throws `conflict` where there is one already.
 */
export async function createCertificate(folders: Folders): Promise<string> {
  const plane = existingControlPlane(folders)
  const { certificateFile, keyFile } = nextIn(folders)
  if (existsSync(certificateFile))
    throw new Failure(
      'conflict',
      `${certificateFile} exists: a certificate that replaces the present one. Go on with it, or remove it and ${keyFile}.`,
    )
  const files = { certificateFile, keyFile }
  await makeSelfSigned(files, certificateNames(plane), issuerIn(folders.directory))
  return certificateFile
}

/**
 * Afterwards the file of authorities has that of the next certificate too, and services that read it again
 * trust both. Throws `invalid` for a certificate that the control plane cannot use, and `not-found` where there is none.
 */
export function trustCertificate(folders: Folders): void {
  const plane = existingControlPlane(folders)
  const next = readNext(folders)
  const authority = authorityOf(next, plane, nextIn(folders).certificateFile)
  const trusted = authorityIn(folders.directory)
  replace(trusted, together(readCertificates(trusted), [authority]))
}

/**
 * Afterwards the next certificate is that of this machine, with its key, and there is no next one. The former one stays
 * behind it in the file: where that is the file of authorities, services go on to trust it. Throws `conflict` where the
 * next one is not trusted yet, and `invalid` for a key that is not its own.
 */
export function useCertificate(folders: Folders): void {
  const plane = existingControlPlane(folders)
  const { directory } = folders
  const { certificateFile, keyFile } = nextIn(folders)
  const next = readNext(folders)
  const authority = authorityOf(next, plane, certificateFile)
  if (!isAmong(readCertificates(authorityIn(directory)), authority))
    throw new Failure(
      'conflict',
      `Nothing here trusts ${certificateFile} yet. Run ./weir certificate trust on every machine, and reload its services; then run this again.`,
    )
  if (!existsSync(keyFile))
    throw new Failure(
      'not-found',
      `${keyFile} does not exist. Copy the key of ${certificateFile} there.`,
    )
  const key = readFileSync(keyFile, 'utf8')
  if (!isKeyOf(key, next[0]!))
    throw new Failure('invalid', `${keyFile} is not the key of ${certificateFile}.`)
  const present = join(directory, FILES.certificate)
  const all = together(next, readCertificates(present))
  // Until both are written the pair does not fit: a gateway serves the former one on, and this command can be repeated.
  replace(join(directory, FILES.key), key)
  replace(present, all)
  if (existsSync(join(directory, PROXY_COPY))) replace(join(directory, PROXY_COPY), all + key)
  for (const file of [certificateFile, keyFile]) rmSync(file)
}

/**
 * Afterwards the files have the certificate of the machine with its authority, and no former ones. Returns how many were
 * removed. Throws `conflict` while a certificate is replaced.
 */
export function forgetCertificates(folders: Folders): number {
  existingControlPlane(folders)
  const { directory } = folders
  const { certificateFile } = nextIn(folders)
  if (existsSync(certificateFile))
    throw new Failure(
      'conflict',
      `${certificateFile} is still to replace the present one. Run ./weir certificate use first, or remove it and its key.`,
    )
  const present = join(directory, FILES.certificate)
  const trusted = authorityIn(directory)
  const known = [...readCertificates(present), ...readCertificates(trusted)]
  const chain = chainOf(known)
  let removed = 0
  for (const file of new Set([present, trusted])) {
    const all = readCertificates(file)
    const kept = all.filter((each) => isAmong(chain, each))
    removed += all.length - kept.length
    if (kept.length < all.length) replace(file, together(kept, []))
  }
  return removed
}

function nextIn({ directory }: Folders) {
  return {
    certificateFile: join(directory, FILES.nextCertificate),
    keyFile: join(directory, FILES.nextKey),
  }
}

function readNext(folders: Folders): readonly X509Certificate[] {
  const { certificateFile } = nextIn(folders)
  if (existsSync(certificateFile)) return readCertificates(certificateFile)
  throw new Failure(
    'not-found',
    `${certificateFile} does not exist. Make it with ./weir certificate create on one machine, or put one of your own authority there, and copy it with its key ${FILES.nextKey} to this machine.`,
  )
}

function isKeyOf(key: string, certificate: X509Certificate): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}

/** At least one, in the order of the file. */
function readCertificates(file: string): readonly X509Certificate[] {
  const found = readFileSync(file, 'utf8').match(PEM) ?? []
  if (found.length === 0) throw new Failure('invalid', `${file} has no certificate as PEM.`)
  try {
    return found.map((pem) => new X509Certificate(pem))
  } catch (cause) {
    throw new Failure('invalid', `${file} has a certificate that cannot be read.`, { cause })
  }
}

/** The first one and its issuers among them, up to the authority if that is there. */
function chainOf(known: readonly X509Certificate[]): readonly X509Certificate[] {
  const chain: X509Certificate[] = []
  let next = known[0]
  while (next !== undefined) {
    const last = next
    chain.push(last)
    next = known.find((each) => isIssuer(each, last) && !isAmong(chain, each))
  }
  return chain
}

function isAmong(all: readonly X509Certificate[], { fingerprint256 }: X509Certificate): boolean {
  return all.some((each) => each.fingerprint256 === fingerprint256)
}

function isIssuer(issuer: X509Certificate, of: X509Certificate): boolean {
  return of.checkIssued(issuer) && of.verify(issuer.publicKey)
}

/** Who is to be trusted. Throws `invalid` for a certificate with which services would not know each other. */
function authorityOf(
  next: readonly X509Certificate[],
  plane: ControlPlane,
  file: string,
): X509Certificate {
  const why = whyUnusable(next[0]!, plane)
  if (why !== undefined) throw new Failure('invalid', `${file} ${why}`)
  const last = chainOf(next).at(-1)!
  if (isIssuer(last, last)) return last
  throw new Failure(
    'invalid',
    `${file} lacks the certificate of its authority, ${last.issuer.replaceAll('\n', ', ')}. Add it at the end.`,
  )
}

function whyUnusable(
  own: X509Certificate,
  { machines, endpoint }: ControlPlane,
): string | undefined {
  const now = systemClock.now()
  if (own.validToDate.getTime() <= now) return `expired on ${own.validTo}.`
  if (own.validFromDate.getTime() > now)
    return `is good from ${own.validFrom} only. Check the clock of this machine.`
  const missing = [...new Set([endpoint, ...machines])].filter(
    (name) => (isIP(name) === 0 ? own.checkHost(name) : own.checkIP(name)) === undefined,
  )
  if (missing.length > 0)
    return `is not for ${missing.join(', ')}: it has to name all machines and their endpoint.`
  // Undefined at run time where a certificate says nothing of its use: it has every use then.
  const usages = own.keyUsage as readonly string[] | undefined
  const lacking = Object.entries(USAGES).find(([, id]) => usages?.includes(id) === false)
  if (lacking !== undefined)
    return `lacks the extended key usage ${lacking[0]}: the machines show it to each other as servers and as clients.`
  return undefined
}

/** PEM of these, without repeats. */
function together(first: readonly X509Certificate[], others: readonly X509Certificate[]): string {
  const all = new Map([...first, ...others].map((each) => [each.fingerprint256, each]))
  return [...all.values()].map(String).join('')
}

/** The file has this content, and its owner and mode as before, for every reader at every moment. */
function replace(path: string, content: string): void {
  const { mode, uid, gid } = statSync(path)
  const draft = `${path}.new`
  writeFileSync(draft, content, { mode: SECRET, flush: true })
  chownSync(draft, uid, gid)
  chmodSync(draft, mode)
  renameSync(draft, path)
}
