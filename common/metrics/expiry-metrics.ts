import { X509Certificate } from 'node:crypto'
import { Gauge, type Registry } from 'prom-client'
import { endOf, readCredential } from '../bus/credential.ts'
import type { Certificate } from '../tls/certificate.ts'

export interface Expiring {
  /** By what each is used for; undefined: there is none. */
  readonly certificates: Readonly<Record<string, { readonly current: Certificate } | undefined>>
  /** Credentials files of NATS, likewise. */
  readonly credentialFiles: Readonly<Record<string, string | undefined>>
}

/** Afterwards the registry has when each of these ends. One that never ends, or cannot be read, has no series. */
export function expiryMetrics(
  registry: Registry,
  { certificates, credentialFiles }: Expiring,
): void {
  const registers = [registry]
  new Gauge({
    name: 'weir_certificate_expiry_timestamp_seconds',
    help: 'When a certificate that this program serves ends',
    labelNames: ['certificate'],
    registers,
    collect() {
      for (const [certificate, watch] of Object.entries(certificates))
        if (watch !== undefined) this.set({ certificate }, certificateEnd(watch.current) / 1_000)
    },
  })
  new Gauge({
    name: 'weir_credential_expiry_timestamp_seconds',
    help: 'When the credential of this program on the bus ends',
    labelNames: ['credential'],
    registers,
    collect() {
      this.reset()
      for (const [credential, file] of Object.entries(credentialFiles)) {
        const end = file === undefined ? undefined : credentialEnd(file)
        if (end !== undefined) this.set({ credential }, end / 1_000)
      }
    },
  })
}

/** In milliseconds since the epoch. */
export function certificateEnd({ cert }: Certificate): number {
  return new X509Certificate(cert).validToDate.getTime()
}

/** The same of a credential; undefined for one that never ends, and for a file that cannot be read. */
export function credentialEnd(file: string): number | undefined {
  try {
    return endOf(readCredential(file))
  } catch {
    return undefined
  }
}
