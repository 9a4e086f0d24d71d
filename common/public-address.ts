import ipaddr from 'ipaddr.js'

/** Addresses routed between networks (RFC 4291 §2.4); the rest of IPv6 is local, reserved, or holds an IPv4 address. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3')
/** ISATAP (RFC 5214 §6.1): the fifth and sixth parts say that the last two are an IPv4 address. */
const ISATAP = [0x5efe, [0, 0x200]] as const

/**
 * True for an address that is public, or within one of `allowed` (CIDR blocks). An IPv4 address inside an IPv6 one
 * counts as the IPv4 address: connections go to that.
 */
export function isPublicAddress(address: string, allowed: readonly string[] = []): boolean {
  const parsed = ipaddr.process(address)
  const isAllowed = allowed
    .map((block) => ipaddr.parseCIDR(block))
    .some((block) => block[0].kind() === parsed.kind() && parsed.match(block))
  return isAllowed || (parsed.range() === 'unicast' && !isEmbedding(parsed))
}

/** True for an address of IPv6 that is none of its own, such as `::127.0.0.1`: a system may connect to what it holds. */
function isEmbedding(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (!('parts' in address)) return false
  const [marker, kinds] = ISATAP
  const [kind = 0, sixth] = address.parts.slice(4)
  const isIsatap = sixth === marker && kinds.some((each) => each === kind)
  return isIsatap || !address.match(GLOBAL_UNICAST)
}
