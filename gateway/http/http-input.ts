import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { Context } from 'hono'

/** Reads one header by its lower-case name. */
export type HeaderReader = (name: string) => string | undefined

/** The part of a request that the shell reads. */
export interface HttpInput {
  readonly request: Request
  readonly header: HeaderReader
  /** Undefined for a request made inside the process. */
  readonly peerAddress: string | undefined
  /** True where the connection is TLS's. */
  readonly isEncrypted?: boolean
  /** True when the headers say whether there is a body, as on every connection of HTTP/1.1. */
  readonly isFramed: boolean
}

/** Node's own parsed headers where there is a connection: a `Headers` object per request costs more than most handlers. */
export function httpInput(c: Context): HttpInput {
  const request = c.req.raw
  const incoming = (c.env as { readonly incoming?: IncomingMessage } | undefined)?.incoming
  if (incoming === undefined) {
    const header = (name: string) => request.headers.get(name) ?? undefined
    return { request, header, peerAddress: undefined, isFramed: false }
  }
  const { headers } = incoming
  return {
    request,
    header: (name) => headers[name] as string | undefined,
    peerAddress: incoming.socket.remoteAddress,
    isEncrypted: isEncrypted(incoming.socket),
    isFramed: true,
  }
}

/** True for a connection of TLS. */
export function isEncrypted(socket: object): boolean {
  return (socket as Partial<TLSSocket>).encrypted === true
}

/**
 * Headers by which keystonemiddleware names the caller to a service behind it. No code reads them here, and handlers
 * cannot: a client that sends them has only the rights of its token (OSSA-2026-001).
 */
const IDENTITY_HEADER =
  /^(?:x-(?:user|project|domain|tenant|role|roles|service|identity|is-admin|system|openstack-auth)(?:-|$)|openstack-system-scope$)/

/** Header access for handlers: a caller's claims about its own identity are not there. */
export function withoutIdentityHeaders(header: HeaderReader): HeaderReader {
  return (name) =>
    IDENTITY_HEADER.test(name.toLowerCase()) ? undefined : header(name.toLowerCase())
}
