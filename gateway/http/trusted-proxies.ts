import ipaddr from 'ipaddr.js'

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number]

/**
 * Tells whether an address is one of the proxies whose X-Forwarded-* headers count. `list` holds addresses
 * and CIDR blocks; throws a plain error naming the entry that is neither.
 */
export function trustedProxies(list: readonly string[]): (address: string | undefined) => boolean {
  if (list.length === 0) return () => false
  const ranges = list.map(parseRange)
  return (address) => {
    if (address === undefined || !ipaddr.isValid(address)) return false
    const peer = ipaddr.process(address)
    return ranges.some((range) => peer.kind() === range[0].kind() && peer.match(range))
  }
}

function parseRange(text: string): Range {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text)
  if (!ipaddr.isValid(text)) throw new Error(`'${text}' is neither an address nor a CIDR block`)
  const address = ipaddr.process(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}
