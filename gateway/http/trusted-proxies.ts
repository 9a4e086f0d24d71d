import ipaddr from 'ipaddr.js'
import type { HttpInput } from './http-input.ts'

/** Whether an address is that of a proxy whose X-Forwarded-* headers count. */
export type IsTrustedProxy = (address: string | undefined) => boolean

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number]

/**
 * Tells whether an address is one of the proxies whose X-Forwarded-* headers count. `list` holds addresses
 * and CIDR blocks; throws a plain error naming the entry that is neither.
 */
export function trustedProxies(list: readonly string[]): IsTrustedProxy {
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

/** The bits of an IPv6 address that say whose network it is in; anybody has all addresses below. */
const NETWORK_PARTS = 4

/**
 * The address that a request counts for: the connection's other end, or the address that trusted proxies report. Of
 * IPv6, its /64. '' for a request made inside the process.
 */
export function peerOf(
  input: Pick<HttpInput, 'peerAddress' | 'header'>,
  isTrustedProxy: IsTrustedProxy,
): string {
  const address = callerAddress(input, isTrustedProxy)
  if (address === undefined || !ipaddr.isValid(address)) return address ?? ''
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  const network = (parsed as ipaddr.IPv6).parts.slice(0, NETWORK_PARTS)
  return `${network.map((part) => part.toString(16)).join(':')}::/64`
}

/**
 * The whole address of the connection's other end, or the one that trusted proxies report. Undefined for a request made
 * inside the process.
 */
export function callerAddress(
  { peerAddress, header }: Pick<HttpInput, 'peerAddress' | 'header'>,
  isTrustedProxy: IsTrustedProxy,
): string | undefined {
  const forwarded = isTrustedProxy(peerAddress) ? (header('x-forwarded-for')?.split(',') ?? []) : []
  // Each proxy appends the address that called it: entries before the first address that is not a proxy are the
  // caller's own claim.
  const caller = forwarded.map((each) => each.trim()).findLast((each) => !isTrustedProxy(each))
  return caller !== undefined && ipaddr.isValid(caller) ? caller : peerAddress
}
