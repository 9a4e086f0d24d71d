import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { ServerTls } from '#deploy/nats/cluster.ts'

/** A certificate for 127.0.0.1 that is its own authority. */
export function makeCertificate(directory: string, name = 'IP:127.0.0.1'): ServerTls {
  const [keyFile, certificateFile] = [join(directory, 'key.pem'), join(directory, 'crt.pem')]
  execFileSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-subj', '/CN=test', '-addext', `subjectAltName=${name}`],
    ...['-keyout', keyFile, '-out', certificateFile],
  ])
  return { keyFile, certificateFile, caFile: certificateFile }
}

/** From now on, until disposed, this process trusts it. */
export function trust({ caFile }: ServerTls): Disposable {
  const before = getCACertificates()
  setDefaultCACertificates([...before, readFileSync(caFile, 'utf8')])
  return { [Symbol.dispose]: () => setDefaultCACertificates(before) }
}
