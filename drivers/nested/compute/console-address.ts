/** Where a console's bytes are, and the subprotocols to offer there. */
export interface ConsoleAddress {
  readonly url: string
  readonly protocols: readonly string[]
}

const BINARY = 'binary'

/**
 * The WebSocket address of a console's page. A Weir's URL has its token behind `#`, and takes it as a subprotocol; the
 * proxies of Nova take it as a parameter, which their URLs have directly or within `path`. Undefined for a URL without
 * one.
 */
export function consoleAddress(text: string): ConsoleAddress | undefined {
  const url = URL.parse(text)
  if (url === null) return undefined
  const origin = `${url.protocol.replace('http', 'ws')}//${url.host}`
  const ours = new URLSearchParams(url.hash.slice(1)).get('token')
  if (ours !== null)
    return { url: `${origin}/console/socket`, protocols: [BINARY, `token.${ours}`] }
  const path = new URLSearchParams(url.searchParams.get('path')?.replace(/^[^?]*\?/, '') ?? '')
  const token = url.searchParams.get('token') ?? path.get('token')
  if (token === null) return undefined
  return { url: `${origin}/websockify?token=${encodeURIComponent(token)}`, protocols: [BINARY] }
}
