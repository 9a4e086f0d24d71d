import ipaddr from 'ipaddr.js'
import { Failure } from '#common/errors.ts'

export type IpVersion = 4 | 6

export interface Ip {
  readonly version: IpVersion
  readonly value: bigint
}

export interface Cidr {
  readonly version: IpVersion
  /** The first address, its host bits clear. */
  readonly first: bigint
  readonly last: bigint
  readonly prefix: number
}

/** Reads an address in its usual spelling, no zone; throws `invalid` naming the field. */
export function parseIp(text: string, field: string): Ip {
  // ipaddr.js also reads the classful shorthands (`10.1`), which are never intended.
  const isFour = ipaddr.IPv4.isValidFourPartDecimal(text)
  if (!isFour && (!ipaddr.IPv6.isValid(text) || text.includes('%')))
    throw new Failure('invalid', `Invalid input for ${field}: '${text}' is not a valid IP address.`)
  return valueOf(isFour ? ipaddr.IPv4.parse(text) : ipaddr.IPv6.parse(text))
}

/** Reads `address/prefix` whose host bits are clear; throws `invalid` naming the field. */
export function parseCidr(text: string, field: string): Cidr {
  const [address, length, ...rest] = text.split('/')
  if (address === undefined || length === undefined || rest.length > 0 || !/^\d{1,3}$/.test(length))
    throw new Failure('invalid', `Invalid input for ${field}: '${text}' is not a valid IP subnet.`)
  const { version, value } = parseIp(address, field)
  const bits = version === 4 ? 32 : 128
  const prefix = Number(length)
  if (prefix > bits)
    throw new Failure('invalid', `Invalid input for ${field}: '${text}' is not a valid IP subnet.`)
  const size = 1n << BigInt(bits - prefix)
  const first = (value / size) * size
  if (first !== value)
    throw new Failure(
      'invalid',
      `Invalid input for ${field}: '${text}' has host bits set; '${formatIp(version, first)}/${prefix}' is recommended.`,
    )
  return { version, first, last: first + size - 1n, prefix }
}

/** The canonical spelling: dotted, or RFC 5952. */
export function formatIp(version: IpVersion, value: bigint): string {
  const length = version === 4 ? 4 : 16
  const hex = value.toString(16).padStart(length * 2, '0')
  return ipaddr.fromByteArray([...Buffer.from(hex, 'hex')]).toString()
}

/** The network that `address/prefix` is in, which may have host bits set; throws `invalid` naming the field. */
export function networkOf(text: string, field: string): string {
  const [address = '', prefix = ''] = text.split('/')
  const { version, value } = parseIp(address, field)
  const host = (1n << BigInt((version === 4 ? 32 : 128) - Number(prefix))) - 1n
  return `${formatIp(version, value & ~host)}/${prefix}`
}

/** An address respelled, so that equal ones are equal as text; throws as `parseIp`. */
export function canonicalIp(text: string, field: string): string {
  const { version, value } = parseIp(text, field)
  return formatIp(version, value)
}

/** The address that a guest with this MAC makes for itself of the prefix (RFC 4291, appendix A). */
export function eui64Address({ cidr }: { readonly cidr: string }, mac: string): string {
  const [a = 0, b, c, d, e, f] = mac.split(':').map((byte) => Number.parseInt(byte, 16))
  // The second bit marks an address that no maker of NICs assigned.
  const bytes = [a ^ 2, b, c, 0xff, 0xfe, d, e, f].map((byte) =>
    (byte ?? 0).toString(16).padStart(2, '0'),
  )
  return formatIp(6, parseCidr(cidr, 'cidr').first | BigInt(`0x${bytes.join('')}`))
}

export function contains(cidr: Cidr, ip: Ip): boolean {
  return ip.version === cidr.version && ip.value >= cidr.first && ip.value <= cidr.last
}

export function overlaps(a: Cidr, b: Cidr): boolean {
  return a.version === b.version && a.first <= b.last && b.first <= a.last
}

function valueOf(address: ipaddr.IPv4 | ipaddr.IPv6): Ip {
  const bytes = Buffer.from(address.toByteArray())
  return { version: bytes.length === 4 ? 4 : 6, value: BigInt(`0x${bytes.toString('hex')}`) }
}
