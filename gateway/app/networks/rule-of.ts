import { Failure } from '#common/errors.ts'
import { protocolNumber } from '#common/ip-protocols.ts'
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

const WITH_PORTS: ReadonlySet<number> = new Set([6, 17, 33, 132, 136])
const ICMP: ReadonlySet<number> = new Set([1, 58])
const ICMP_V4 = 1
const ICMP_V6 = { number: 58, name: 'ipv6-icmp' }
/** The headers that IPv6 alone has, and its ICMP. */
const OF_IPV6: ReadonlySet<number> = new Set([41, 43, 44, 58, 59, 60])
const PORT_MAX = 65_535
const ICMP_MAX = 255

/** The rule's parts in canonical form; throws `invalid` for parts that do not fit together. */
export function ruleOf(draft: RuleDraft): RuleParts {
  const etherType = draft.ethertype ?? 'IPv4'
  const protocol = protocolOf(draft.protocol, etherType)
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

/**
 * The name or the number, as it was given: clients compare it with what they have sent. ICMP of IPv6 is called by its
 * newer name. Null for any protocol, which Neutron also calls `any`.
 */
function protocolOf(given: string | null | undefined, etherType: 'IPv4' | 'IPv6'): string | null {
  const text = given?.toLowerCase()
  if (text === undefined || text === 'any' || text === '0') return null
  const number = protocolNumber(text)
  if (number === undefined)
    throw new Failure('invalid', `Security group rule protocol ${given} not supported.`)
  if (etherType === 'IPv4' && OF_IPV6.has(number))
    throw new Failure('invalid', `Invalid ethertype IPv4 for protocol ${text}.`)
  const isNumber = /^\d/.test(text)
  if (filteredProtocol(text, etherType) === ICMP_V6.number && etherType === 'IPv6')
    return isNumber ? String(ICMP_V6.number) : ICMP_V6.name
  return isNumber ? String(number) : text
}

/** IANA's number of a rule's protocol. ICMP is another protocol with IPv6. */
export function filteredProtocol(protocol: string, etherType: 'IPv4' | 'IPv6'): number {
  const number = protocolNumber(protocol)!
  return number === ICMP_V4 && etherType === 'IPv6' ? ICMP_V6.number : number
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
