import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:tls'
import { Failure } from '#common/errors.ts'
import { certificatePin } from '#common/tls/certificate.ts'

const CONNECT_LIMIT_MS = 10_000
const DEFAULT_PORT = 443

/** The certificate that is served there, as PEM. Throws `forbidden` when its key is not the one of the pin. */
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
    const der = socket.getPeerCertificate().raw
    const certificate = new X509Certificate(der)
    if (certificatePin(certificate) === pin) return certificate.toString()
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
