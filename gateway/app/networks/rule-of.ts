import { Failure } from '#common/errors.ts'
import type { SecurityGroupRule } from '../../db/network.ts'
import { formatIp, parseIp } from './ip.ts'

/** A rule as requests write it. */
export interface RuleDraft {
  readonly security_group_id: string
  readonly direction: 'ingress' | 'egress'
  readonly description?: string | null
  readonly ethertype?: 'IPv4' | 'IPv6' | null
  readonly protocol?: string | null
  readonly port_range_min?: number | null
  readonly port_range_max?: number | null
  readonly remote_ip_prefix?: string | null
  readonly remote_group_id?: string | null
}

type RuleParts = Omit<SecurityGroupRule, 'id' | 'groupId' | 'projectId' | 'createdAt'>

/** Names of protocols and their IANA numbers; a number is as good as its name. */
const PROTOCOLS: Readonly<Record<string, number>> = {
  icmp: 1,
  igmp: 2,
  ipip: 4,
  tcp: 6,
  egp: 8,
  udp: 17,
  dccp: 33,
  'ipv6-encap': 41,
  'ipv6-route': 43,
  'ipv6-frag': 44,
  rsvp: 46,
  gre: 47,
  esp: 50,
  ah: 51,
  'ipv6-icmp': 58,
  icmpv6: 58,
  'ipv6-nonxt': 59,
  'ipv6-opts': 60,
  ospf: 89,
  pgm: 113,
  vrrp: 112,
  sctp: 132,
  udplite: 136,
}
const WITH_PORTS: ReadonlySet<number> = new Set([6, 17, 33, 132, 136])
const ICMP: ReadonlySet<number> = new Set([1, 58])
const PORT_MAX = 65_535
const ICMP_MAX = 255

/** The rule's parts in canonical form; throws `invalid` for parts that do not fit together. */
export function ruleOf(draft: RuleDraft): RuleParts {
  const etherType = draft.ethertype ?? 'IPv4'
  const protocol = protocolOf(draft.protocol)
  const ports = portsOf(draft, protocol)
  if (draft.remote_ip_prefix != null && draft.remote_group_id != null)
    throw new Failure('invalid', 'Only remote_ip_prefix or remote_group_id may be provided.')
  return {
    description: draft.description ?? '',
    direction: draft.direction,
    etherType,
    protocol,
    ...ports,
    remoteCidr: remoteOf(draft.remote_ip_prefix, etherType),
    remoteGroupId: draft.remote_group_id ?? null,
  }
}

/** A name in lower case, or a number without a name; null for any protocol, which Neutron also calls `any`. */
function protocolOf(given: string | null | undefined): string | null {
  const text = given?.toLowerCase()
  if (text === undefined || text === 'any' || text === '0') return null
  if (Object.hasOwn(PROTOCOLS, text)) return text
  if (/^\d{1,3}$/.test(text) && Number(text) <= ICMP_MAX) return nameOf(Number(text)) ?? text
  throw new Failure('invalid', `Security group rule protocol ${given} not supported.`)
}

/** IANA's number of a rule's protocol, which is a name, or a number without a name. */
export function protocolNumber(protocol: string): number {
  return PROTOCOLS[protocol] ?? Number(protocol)
}

function nameOf(number: number): string | undefined {
  return Object.entries(PROTOCOLS).find(([, value]) => value === number)?.[0]
}

function portsOf(
  draft: RuleDraft,
  protocol: string | null,
): Pick<RuleParts, 'portMin' | 'portMax'> {
  const portMin = draft.port_range_min ?? null
  const portMax = draft.port_range_max ?? null
  if (portMin === null && portMax === null) return { portMin, portMax }
  const number = protocol === null ? undefined : protocolNumber(protocol)
  if (number !== undefined && ICMP.has(number)) return icmpOf(portMin, portMax)
  if (number === undefined || !WITH_PORTS.has(number))
    throw new Failure(
      'invalid',
      'Must also specify a protocol that has ports if port range is given.',
    )
  const isRange = portMin !== null && portMax !== null && portMin >= 1 && portMin <= portMax
  if (!isRange || portMax > PORT_MAX)
    throw new Failure(
      'invalid',
      `For TCP/UDP protocols, port_range_min must be <= port_range_max, both from 1 to ${PORT_MAX}.`,
    )
  return { portMin, portMax }
}

/** For ICMP they are type and code; a code needs a type. */
function icmpOf(portMin: number | null, portMax: number | null) {
  if (portMin === null)
    throw new Failure(
      'invalid',
      'ICMP code (port-range-max) is provided but ICMP type (port-range-min) is missing.',
    )
  if ([portMin, portMax ?? 0].some((value) => value < 0 || value > ICMP_MAX))
    throw new Failure('invalid', `ICMP type and code must be from 0 to ${ICMP_MAX}.`)
  return { portMin, portMax }
}

/** Host bits stay as given and a single address is a network of one, as in Neutron. */
function remoteOf(given: string | null | undefined, etherType: 'IPv4' | 'IPv6'): string | null {
  if (given == null || given === '') return null
  const [address = '', length] = given.split('/')
  const ip = parseIp(address, 'remote_ip_prefix')
  const bits = ip.version === 4 ? 32 : 128
  if (ip.version !== (etherType === 'IPv4' ? 4 : 6))
    throw new Failure('invalid', `Conflicting value ethertype ${etherType} for CIDR ${given}`)
  const prefix = length === undefined ? bits : Number(length)
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > bits || length === '')
    throw new Failure(
      'invalid',
      `Invalid input for remote_ip_prefix: '${given}' is not a valid CIDR.`,
    )
  return `${formatIp(ip.version, ip.value)}/${prefix}`
}
