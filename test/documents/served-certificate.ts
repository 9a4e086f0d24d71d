import { spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'

const LIMIT_MS = 10_000

/** The SHA-256 of the certificate that a server shows there, which speaks TLS at once, or after the greeting of its protocol. */
export async function servedCertificate(
  host: string,
  port: number,
  protocol: 'tls' | 'mysql' | 'nats',
): Promise<string> {
  if (protocol === 'mysql') return shownToMysql(host, port)
  const plain = connect(port, host)
  try {
    const signal = AbortSignal.timeout(LIMIT_MS)
    await once(plain, protocol === 'nats' ? 'data' : 'connect', { signal })
    plain.pause()
    // Some servers end the connection when no certificate is shown to them.
    const socket = connectTls({ socket: plain, rejectUnauthorized: false }).on('error', () => {})
    await once(socket, 'secureConnect', { signal })
    return socket.getPeerX509Certificate()!.fingerprint256
  } finally {
    plain.destroy()
  }
}

async function shownToMysql(host: string, port: number): Promise<string> {
  const args = ['s_client', '-starttls', 'mysql', '-connect', `${host}:${port}`]
  const client = spawn('openssl', args, { stdio: ['ignore', 'pipe', 'ignore'], timeout: LIMIT_MS })
  return new X509Certificate(await text(client.stdout)).fingerprint256
}
