/** IANA's numbers of protocols above IP, by Neutron's names of them. The first name of a number is the usual one. */
const NUMBERS: ReadonlyMap<string, number> = new Map([
  ['icmp', 1],
  ['igmp', 2],
  ['ipip', 4],
  ['tcp', 6],
  ['egp', 8],
  ['udp', 17],
  ['dccp', 33],
  ['ipv6-encap', 41],
  ['ipv6-route', 43],
  ['ipv6-frag', 44],
  ['rsvp', 46],
  ['gre', 47],
  ['esp', 50],
  ['ah', 51],
  ['ipv6-icmp', 58],
  ['icmpv6', 58],
  ['ipv6-nonxt', 59],
  ['ipv6-opts', 60],
  ['ospf', 89],
  ['vrrp', 112],
  ['pgm', 113],
  ['sctp', 132],
  ['udplite', 136],
])
const NAMES: ReadonlyMap<number, string> = new Map(
  [...NUMBERS].toReversed().map(([name, number]) => [number, name]),
)
const NUMBER_MAX = 255

/** The number of a protocol, which is a name or a number itself; undefined for other texts. */
export function protocolNumber(protocol: string): number | undefined {
  const named = NUMBERS.get(protocol)
  if (named !== undefined) return named
  return /^\d{1,3}$/.test(protocol) && Number(protocol) <= NUMBER_MAX ? Number(protocol) : undefined
}

/** The one text by which the protocol is called whether its name or its number was given. */
export function usualProtocol(protocol: string): string {
  const number = protocolNumber(protocol)
  return number === undefined ? protocol : (NAMES.get(number) ?? String(number))
}
