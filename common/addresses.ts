const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  'nats:': 4_222,
  'tls:': 4_222,
  'ws:': 80,
  'wss:': 443,
}

/** The URLs in a text with commas between them, in its order. */
export function addressesIn(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

export interface BusAddress {
  /** Without the brackets of IPv6. */
  readonly host: string
  readonly port: number
  /** A connection without encryption is refused. */
  readonly isEncrypted: boolean
}

/** Where to connect for this URL, which names a port or has the usual one of its scheme. */
export function busAddress(url: string): BusAddress {
  const { protocol, hostname, port } = new URL(url)
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (DEFAULT_PORTS[protocol] ?? 0) : Number(port),
    isEncrypted: protocol === 'tls:' || protocol === 'wss:',
  }
}
