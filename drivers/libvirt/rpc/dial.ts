import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'

/** Where a daemon listens: on a socket of this machine, or on a port; with `tls` both sides prove who they are. */
export type DialTarget =
  | { readonly path: string }
  | { readonly host: string; readonly port: number; readonly tls?: TlsFiles }

/** Paths of PEM files. They are read again for every connection: certificates are renewed. */
export interface TlsFiles {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

const TIMEOUT_MS = 5_000
/** The first byte of a daemon that has accepted a client's certificate (libvirt: src/rpc/virnetserverclient.c). */
const ACCEPTED = 1

/**
 * A connection to the daemon, before the first byte. Throws the system's error, or one that says which side refused
 * the other.
 */
export async function dial(target: DialTarget): Promise<Socket> {
  const tls = 'tls' in target ? target.tls : undefined
  const socket = tls === undefined ? connect(target) : await begin(target, tls)
  const timer = setTimeout(() => socket.destroy(new Error('timed out')), TIMEOUT_MS)
  try {
    await first(socket, tls === undefined ? 'connect' : 'readable')
    if (tls !== undefined) failOnRefusedCertificate(socket, tls)
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

async function begin(target: DialTarget, { ca, cert, key }: TlsFiles): Promise<Socket> {
  const [authority, certificate, secret] = await Promise.all([ca, cert, key].map(pem))
  return connectSecurely({ ...target, ca: authority, cert: certificate, key: secret })
}

function pem(path: string): Promise<string> {
  return readFile(path, 'utf8')
}

/** A daemon that does not like the client hangs up without a word. */
function failOnRefusedCertificate(socket: Socket, { cert }: TlsFiles): void {
  const byte = socket.read(1) as Buffer | null
  if (byte?.[0] !== ACCEPTED)
    throw new Error(`the daemon refuses the certificate ${cert}, or the name in it`)
}

async function first(socket: Socket, event: 'connect' | 'readable'): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.once('error', reject).once(event, resolve)
  try {
    await promise
  } finally {
    socket.off('error', reject).off(event, resolve)
  }
}
