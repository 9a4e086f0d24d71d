import ipaddr from 'ipaddr.js'

/**
 * True for an address that is public, or within one of `allowed` (CIDR blocks). An IPv4 address inside an IPv6 one counts
 * as itself: it is what is connected to in the end.
 */
export function isPublicAddress(address: string, allowed: readonly string[] = []): boolean {
  const parsed = ipaddr.process(address)
  const isAllowed = allowed
    .map((block) => ipaddr.parseCIDR(block))
    .some((block) => block[0].kind() === parsed.kind() && parsed.match(block))
  return isAllowed || parsed.range() === 'unicast'
}
