import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import type { TlsOptions } from '@nats-io/transport-node'
import { busAddress } from '../addresses.ts'

/**
 * The options by which NATS' client encrypts its connections to servers at `tls://` addresses; none for others. A server
 * must have a certificate for one of the addresses, from an authority that this process trusts: the client does not say
 * to which of them it has connected.
 */
export function encryptionTo(urls: readonly string[]): { readonly tls?: TlsOptions } {
  const servers = urls.filter((url) => url.startsWith('tls://')).map(busAddress)
  if (servers.length === 0) return {}
  const options = {
    checkServerIdentity: (_host: string, certificate: PeerCertificate) => {
      const problems = servers.map(({ host }) => checkServerIdentity(host, certificate))
      return problems.includes(undefined) ? undefined : problems[0]
    },
  }
  // The client passes on what it does not know.
  return { tls: options as TlsOptions }
}
