import ipaddr from 'ipaddr.js'
import type { NicSpec } from '../../driver.ts'
import type { FilterRule } from '../../firewall.ts'
import { element, renderXml, type XmlElement } from '../xml/element.ts'
import { filterName } from './filter-name.ts'

/** IANA numbers libvirt has an element for, and its name: for IPv4, and for IPv6. */
const PROTOCOLS: Readonly<Record<number, readonly [string | null, string | null]>> = {
  1: ['icmp', null],
  2: ['igmp', null],
  6: ['tcp', 'tcp-ipv6'],
  17: ['udp', 'udp-ipv6'],
  50: ['esp', 'esp-ipv6'],
  51: ['ah', 'ah-ipv6'],
  58: [null, 'icmpv6'],
  132: ['sctp', 'sctp-ipv6'],
  136: ['udplite', 'udplite-ipv6'],
}
const ICMP: ReadonlySet<string> = new Set(['icmp', 'icmpv6'])
const ESTABLISHED = { state: 'ESTABLISHED,RELATED' }

/** Smaller is checked first: sent packets are checked for spoofing before any packet is let through. */
const PRIORITY = { spoofing: -500, needs: 100, established: 150, rules: 200, rest: 500 } as const

type Attributes = Readonly<Record<string, string | number>>

/**
 * The filter of a port: its guest sends from its own MAC and addresses only, gets DHCP and neighbour discovery, and
 * of the rest what the rules let through, whose answers pass by themselves. `rules` null: everything passes.
 */
export function filterXml(nic: NicSpec, rules: readonly FilterRule[] | null): string {
  const name = filterName(nic.portId)
  const parts =
    rules === null
      ? []
      : [...againstSpoofing(nic), ...NEEDS, ...rules.flatMap(ruleElements), ...REST]
  return renderXml(
    element('filter', { name, chain: 'root' }, element('uuid', {}, nic.portId), ...parts),
  )
}

/** True for a rule libvirt has no words for: what it would let through stays shut. */
export function isBeyondLibvirt(rule: FilterRule): boolean {
  return elementName(rule) === undefined
}

function rule(
  action: 'accept' | 'drop',
  direction: 'in' | 'out' | 'inout',
  priority: number,
  match: XmlElement,
  more: Attributes = {},
): XmlElement {
  return element('rule', { action, direction, priority, ...more }, match)
}

function againstSpoofing({ macAddress, fixedIps }: NicSpec): readonly XmlElement[] {
  const accept = (name: string, attributes: Attributes) =>
    rule('accept', 'out', PRIORITY.spoofing + 1, element(name, attributes))
  const drop = (name: string, attributes: Attributes, priority: number) =>
    rule('drop', 'out', priority, element(name, attributes))
  const own = fixedIps.map(({ address }) => address)
  const v4 = own.filter((address) => ipaddr.IPv4.isValid(address))
  const v6 = own.filter((address) => ipaddr.IPv6.isValid(address))
  const dhcp = { srcipaddr: '0.0.0.0', protocol: 'udp', srcportstart: 68, dstportstart: 67 }
  return [
    drop('mac', { match: 'no', srcmacaddr: macAddress }, PRIORITY.spoofing),
    ...v4.map((address) => accept('arp', { arpsrcmacaddr: macAddress, arpsrcipaddr: address })),
    // An address is probed for before it is used (RFC 5227).
    accept('arp', { arpsrcmacaddr: macAddress, arpsrcipaddr: '0.0.0.0' }),
    ...v4.map((address) => accept('ip', { srcipaddr: address })),
    accept('ip', dhcp),
    ...v6.map((address) => accept('ipv6', { srcipaddr: address })),
    accept('ipv6', { srcipaddr: 'fe80::', srcipmask: 10 }),
    accept('ipv6', { srcipaddr: '::', srcipmask: 128 }),
    drop('mac', {}, PRIORITY.spoofing + 2),
  ]
}

/**
 * The traffic that every guest needs. The kernel does not track neighbour discovery as connections, so its state is not
 * matched.
 */
const NEEDS: readonly XmlElement[] = [
  need('out', 'udp', { srcportstart: 68, dstportstart: 67 }),
  need('in', 'udp', { srcportstart: 67, dstportstart: 68 }),
  ...[133, 135, 136, 143].map((type) => need('out', 'icmpv6', { type })),
  ...[130, 131, 132, 134, 135, 136].map((type) => need('in', 'icmpv6', { type })),
  // libvirt matches the answers to what a rule lets through by protocol and ports, and ICMP has none.
  ...(['in', 'out'] as const).flatMap((direction) =>
    [...ICMP].map((name) =>
      rule('accept', direction, PRIORITY.established, element(name, ESTABLISHED)),
    ),
  ),
]

const REST: readonly XmlElement[] = ['all', 'all-ipv6'].map((name) =>
  rule('drop', 'inout', PRIORITY.rest, element(name)),
)

function need(direction: 'in' | 'out', name: string, attributes: Attributes): XmlElement {
  const match = element(name, attributes)
  return rule('accept', direction, PRIORITY.needs, match, { statematch: 'false' })
}

function ruleElements(asked: FilterRule): readonly XmlElement[] {
  const name = elementName(asked)
  if (name === undefined) return []
  const direction = asked.direction === 'ingress' ? 'in' : 'out'
  const remotes = asked.remotes === null ? [{}] : asked.remotes.map((cidr) => remoteOf(asked, cidr))
  return remotes.map((remote) => {
    const match = element(name, { ...remote, ...portsOf(asked, name) })
    return rule('accept', direction, PRIORITY.rules, match)
  })
}

function elementName({ protocol, version }: FilterRule): string | undefined {
  if (protocol === null) return version === 4 ? 'all' : 'all-ipv6'
  return PROTOCOLS[protocol]?.[version === 4 ? 0 : 1] ?? undefined
}

function remoteOf({ direction }: FilterRule, cidr: string): Attributes {
  const [address, bits] = ipaddr.parseCIDR(cidr)
  const side = direction === 'ingress' ? 'src' : 'dst'
  return { [`${side}ipaddr`]: address.toString(), [`${side}ipmask`]: bits }
}

function portsOf({ portMin, portMax }: FilterRule, name: string): Attributes {
  if (portMin === null) return {}
  if (ICMP.has(name)) return { type: portMin, ...(portMax === null ? {} : { code: portMax }) }
  return { dstportstart: portMin, dstportend: portMax ?? portMin }
}
