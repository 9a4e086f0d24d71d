import type { ServerRecord } from '../app/servers/list/server-record.ts'

/** A server's addresses without what they are used for. */
export function networkAddressesView(addresses: ServerRecord['addresses']) {
  const entries = Object.entries(addresses).map(([network, listed]) => [
    network,
    listed.map(({ addr, version }) => ({ addr, version })),
  ])
  return Object.fromEntries(entries) as Record<string, { addr: string; version: 4 | 6 }[]>
}
