import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect, type DetailedPeerCertificate } from 'node:tls'
import { Failure } from '#common/errors.ts'
import { certificatePin } from '#common/tls/certificate.ts'

const CONNECT_LIMIT_MS = 10_000
const DEFAULT_PORT = 443

/**
 * The certificate that is served there, as PEM, with those of its issuers that the server sends: they are believed with it.
 * Throws `forbidden` when its key is not the one of the pin.
 */
export async function pinnedCertificate(url: URL, pin: string): Promise<string> {
  const { hostname, port } = url
  const socket = connect({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? DEFAULT_PORT : Number(port),
    // The server is recognized by its key, below, and receives nothing before that.
    rejectUnauthorized: false,
  })
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(CONNECT_LIMIT_MS) })
    const [certificate, ...issuers] = chainOf(socket.getPeerCertificate(true))
    if (certificate !== undefined && certificatePin(certificate) === pin)
      return [certificate, ...issuers].map(String).join('')
  } catch (cause) {
    throw new Failure('unavailable', `${url.origin} does not answer over TLS.`, { cause })
  } finally {
    socket.destroy()
  }
  throw new Failure(
    'forbidden',
    `The server at ${url.origin} is not the gateway that made this token. Nothing was sent.`,
  )
}

function chainOf(first: DetailedPeerCertificate): readonly X509Certificate[] {
  const chain: X509Certificate[] = []
  const seen = new Set<string>()
  let next: DetailedPeerCertificate | undefined = first
  // The last one names itself as its issuer.
  while (next?.raw !== undefined && !seen.has(next.fingerprint256)) {
    seen.add(next.fingerprint256)
    chain.push(new X509Certificate(next.raw))
    next = next.issuerCertificate
  }
  return chain
}
