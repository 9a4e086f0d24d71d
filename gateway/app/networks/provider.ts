import { Failure } from '#common/errors.ts'
import type { Network } from '../../db/network.ts'

/**
 * The tunnel keys of networks: OVN's keys have 24 bits, and ovn-northd uses the lower ones for networks without a
 * requested key. Connected cells need the same key for a network, so the gateway assigns them.
 */
export const NETWORK_KEYS = { first: 16_000_001, last: 2 ** 24 - 1 } as const

/** Where a network is on the wire, as requests and answers write it. */
export interface ProviderFields {
  readonly 'provider:network_type'?: string | null
  readonly 'provider:physical_network'?: string | null
  readonly 'provider:segmentation_id'?: number | null
}

/** The same, as an attribute of its own with a part of the network for each place. */
export interface SegmentedFields extends ProviderFields {
  readonly segments?: readonly ProviderFields[]
}

/** The attributes of a network that place it on the wire. */
export type Provider = Pick<Network, 'physicalNetwork' | 'vlanId' | 'tunnelKey'>

const VLAN_MAX = 4_094

/** True if the request has such an attribute. */
export function namesProvider(fields: ProviderFields): boolean {
  return [
    fields['provider:network_type'],
    fields['provider:physical_network'],
    fields['provider:segmentation_id'],
  ].some((value) => value !== undefined && value !== null)
}

/** The fields with the attributes of their segment. Throws `invalid` for several segments, or for both. */
export function ofOneSegment<Fields extends SegmentedFields>(fields: Fields): Fields {
  const { segments = [], ...others } = fields
  const [segment, ...further] = segments
  if (segment === undefined) return fields
  if (namesProvider(fields))
    throw new Failure('invalid', 'Segments and provider values cannot both be set.')
  if (further.length > 0)
    throw refusal(`a network has one segment, not ${segments.length}. Create a network for each.`)
  if (!namesProvider(segment)) throw refusal('network_type required.')
  return { ...others, ...segment } as Fields
}

/**
 * The requested place of the network. Throws `invalid` for contradictory attributes, in the words of Neutron's type
 * drivers (neutron/plugins/ml2/drivers/type_*.py).
 */
export function providerOf(fields: ProviderFields, network: Provider): Provider {
  const type = fields['provider:network_type'] ?? null
  const physicalNetwork = fields['provider:physical_network'] ?? null
  const segment = fields['provider:segmentation_id'] ?? null
  switch (type) {
    case null:
      throw refusal('network_type required.')
    case 'flat':
      if (segment !== null) throw refusal('segmentation_id prohibited for flat provider network.')
      return { ...network, physicalNetwork: physicalOf(type, physicalNetwork), vlanId: 0 }
    case 'vlan':
      return {
        ...network,
        physicalNetwork: physicalOf(type, physicalNetwork),
        vlanId: within(segment, 1, VLAN_MAX),
      }
    case 'geneve':
      if (physicalNetwork !== null)
        throw refusal('provider:physical_network specified for geneve network.')
      if (segment === null) return network
      return { ...network, tunnelKey: within(segment, NETWORK_KEYS.first, NETWORK_KEYS.last) }
    default:
      throw refusal(`network_type value '${type}' not supported: it is flat, geneve or vlan.`)
  }
}

/** Where the network is on the wire, as administrators see it. */
export function providerView({ physicalNetwork, vlanId, tunnelKey }: Provider) {
  const type = physicalNetwork === null ? 'geneve' : vlanId === 0 ? 'flat' : 'vlan'
  const segment = type === 'geneve' ? tunnelKey : type === 'vlan' ? vlanId : null
  return {
    'provider:network_type': type,
    'provider:physical_network': physicalNetwork,
    'provider:segmentation_id': segment,
  } as const
}

/** Another network has the requested place. */
export function providerTaken({ physicalNetwork, vlanId, tunnelKey }: Provider): Failure {
  const where =
    physicalNetwork === null
      ? `network. The tunnel ID ${tunnelKey}`
      : vlanId === 0
        ? `flat network. Physical network ${physicalNetwork}`
        : `network. The VLAN ${vlanId} on physical network ${physicalNetwork}`
  return new Failure('conflict', `Unable to create the ${where} is in use.`)
}

function physicalOf(type: string, name: string | null): string {
  if (name !== null && name !== '') return name
  throw refusal(`physical_network required for ${type} provider network.`)
}

function within(segment: number | null, first: number, last: number): number {
  if (segment !== null && segment >= first && segment <= last) return segment
  throw refusal(`segmentation_id out of range (${first} through ${last}).`)
}

function refusal(why: string): Failure {
  return new Failure('invalid', `Invalid input for operation: ${why}`)
}
