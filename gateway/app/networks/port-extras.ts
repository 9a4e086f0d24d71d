import { Failure } from '#common/errors.ts'
import type { AllowedPair, DhcpOption, Network, Port } from '../../db/network.ts'
import type { Requester } from '../requester.ts'
import { requireNetworkEngine } from './engine.ts'
import { canonicalIp, networkOf } from './ip.ts'
import type { Networks } from './list-networks.ts'
import { NetworkFailure } from './network-failure.ts'
import type { PortFields } from './port-fields.ts'
import { isOwner } from './visible.ts'

/** The attributes of a port that only the network engine enforces. */
export type PortExtras = Pick<Port, 'allowedPairs' | 'dhcpOptions' | 'dnsName'>

export const NO_EXTRAS: PortExtras = { allowedPairs: [], dhcpOptions: [], dnsName: '' }

/** Neutron's `max_allowed_address_pair`. */
const PAIRS_MAX = 10
const OPTIONS_MAX = 40

/**
 * The extras of a port of the network after the request. Throws `unsupported` if they would have no effect, `forbidden`
 * for pairs on another project's network, `invalid` or `conflict` for contradictory values.
 */
export async function extrasOf(
  { db }: Networks,
  requester: Requester,
  network: Network,
  before: PortExtras & Pick<Port, 'hasPortSecurity'>,
  fields: PortFields,
): Promise<PortExtras> {
  const { allowed_address_pairs: pairs, extra_dhcp_opts: options, dns_name: dnsName } = fields
  const hasExtras = [pairs?.length, options?.length, dnsName?.length].some((length) => length)
  if ((pairs ?? []).length > 0 && !isOwner(requester, network))
    throw new Failure(
      'forbidden',
      'Only the owner of the network may set allowed_address_pairs on it.',
    )
  const after = {
    allowedPairs: pairs === undefined ? before.allowedPairs : pairsOf(pairs ?? []),
    dhcpOptions: options === undefined ? before.dhcpOptions : optionsOf(before, options ?? []),
    dnsName: dnsName === undefined ? before.dnsName : nameOf(dnsName ?? ''),
  }
  if (after.allowedPairs.length > 0 && !before.hasPortSecurity)
    throw new NetworkFailure(
      'conflict',
      'AddressPairAndPortSecurityRequired',
      'Port Security must be enabled in order to have allowed address pairs on a port.',
    )
  if (hasExtras)
    await requireNetworkEngine(db, 'allowed_address_pairs, extra_dhcp_opts or dns_name of a port')
  return after
}

function pairsOf(asked: NonNullable<PortFields['allowed_address_pairs']>): readonly AllowedPair[] {
  if (asked.length > PAIRS_MAX)
    throw new NetworkFailure(
      'invalid',
      'AllowedAddressPairExhausted',
      `The number of allowed address pair exceeds the maximum ${PAIRS_MAX}.`,
    )
  const pairs = asked.map(({ ip_address: text, mac_address: mac }) => ({
    address: text.includes('/') ? prefixOf(text) : canonicalIp(text, 'allowed_address_pairs'),
    mac: mac?.toLowerCase() ?? null,
  }))
  const seen = new Set<string>()
  for (const { address, mac } of pairs) {
    const key = `${mac} ${address}`
    if (seen.has(key))
      throw new NetworkFailure(
        'invalid',
        'DuplicateAddressPairInRequest',
        `Request contains duplicate address pair: mac_address ${mac} ip_address ${address}.`,
      )
    seen.add(key)
  }
  return pairs
}

function prefixOf(text: string): string {
  if (!/^[^/]+\/\d{1,3}$/.test(text)) throw notSubnet(text)
  const [address = '', length = ''] = text.split('/')
  const bits = canonicalIp(address, 'allowed_address_pairs').includes(':') ? 128 : 32
  if (Number(length) > bits) throw notSubnet(text)
  return networkOf(text, 'allowed_address_pairs')
}

function notSubnet(text: string): Failure {
  return new Failure(
    'invalid',
    `Invalid input for allowed_address_pairs: '${text}' is not a valid IP subnet.`,
  )
}

/** As in Neutron, an option without a value is removed, and others are added to the existing ones. */
function optionsOf(
  { dhcpOptions }: PortExtras,
  asked: NonNullable<PortFields['extra_dhcp_opts']>,
): readonly DhcpOption[] {
  const options = new Map(dhcpOptions.map((option) => [keyOf(option), option]))
  for (const { opt_name: name, opt_value: value, ip_version: version = 4 } of asked) {
    const key = keyOf({ name, version })
    if (value === null || value === undefined) options.delete(key)
    else options.set(key, { name, value, version })
  }
  if (options.size <= OPTIONS_MAX) return [...options.values()]
  throw new Failure(
    'invalid',
    `Invalid input for extra_dhcp_opts: the port would have ${options.size} options, at most ${OPTIONS_MAX} are allowed.`,
  )
}

function keyOf({ name, version }: Pick<DhcpOption, 'name' | 'version'>): string {
  return `${version} ${name}`
}

function nameOf(text: string): string {
  const name = text.toLowerCase()
  if (name === '' || /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) return name
  throw new Failure(
    'invalid',
    `Invalid input for dns_name: '${text}' is not a host name of letters, digits and dashes.`,
  )
}

/** The DNS domain of networks that set none, like Neutron's `dns_domain`. */
const DOMAIN = 'openstacklocal'

/** The DNS name of each of the port's addresses inside its network; none for a port without a name. */
export function dnsAssignment({ dnsName: hostname, fixedIps }: Port, domain: string) {
  if (hostname === '') return []
  const fqdn = `${hostname}.${domain === '' ? DOMAIN : domain}.`
  return fixedIps.map(({ address }) => ({ ip_address: address, hostname, fqdn }))
}
