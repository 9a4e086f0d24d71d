import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { AddressRange, HostRoute, Ipv6Mode, Subnet } from '../../db/network.ts'
import { lockNetwork } from '../../db/networks.ts'
import { defaultSubnetPool, type SubnetPool } from '../../db/subnet-pools.ts'
import { insertSubnet, subnetsOfNetworks } from '../../db/subnets.ts'
import type { Requester } from '../requester.ts'
import { allocatePrefix } from './allocate-prefix.ts'
import { addAutoAddresses } from './auto-addresses.ts'
import { requireNetworkEngine } from './engine.ts'
import { overlaps, parseCidr } from './ip.ts'
import type { Networks } from './list-networks.ts'
import { NetworkFailure } from './network-failure.ts'
import { charge } from './quotas.ts'
import { addressing, isAutoAddressed } from './subnet-addressing.ts'
import { visibleSubnetPool } from './subnet-pools.ts'
import { ownerOf, ownNetwork } from './visible.ts'

export interface SubnetDraft {
  readonly network_id: string
  /** Absent: some prefix of the pool. */
  readonly cidr?: string
  /** Absent: that of the prefix or of the pool. */
  readonly ip_version?: 4 | 6
  readonly subnetpool_id?: string | null
  readonly use_default_subnetpool?: boolean
  /** Of a prefix of the pool. */
  readonly prefixlen?: number
  readonly name?: string
  readonly description?: string
  readonly project_id?: string
  readonly tenant_id?: string
  /** Absent: the first address; null: none. */
  readonly gateway_ip?: string | null
  readonly enable_dhcp?: boolean
  readonly dns_nameservers?: readonly string[]
  readonly host_routes?: readonly HostRoute[]
  readonly allocation_pools?: readonly AddressRange[]
  readonly ipv6_ra_mode?: Ipv6Mode | null
  readonly ipv6_address_mode?: Ipv6Mode | null
}

/**
 * Afterwards all of these subnets exist, or none. Throws `invalid` for addresses that contradict each other or overlap
 * another subnet, `conflict` for a pool without room, `over-quota`.
 */
export async function createSubnets(
  networks: Networks,
  requester: Requester,
  drafts: readonly SubnetDraft[],
): Promise<readonly Subnet[]> {
  const planned: PlannedSubnet[] = []
  for (const draft of drafts) planned.push(await checkedSubnet(networks, requester, draft))
  if (drafts.some((draft) => draft.ipv6_ra_mode ?? draft.ipv6_address_mode))
    await requireNetworkEngine(networks.db, 'ipv6_ra_mode or ipv6_address_mode of a subnet')
  return networks.db.transaction(async (tx) => {
    const made: Subnet[] = []
    for (const each of planned) made.push(await placeSubnet(tx, each))
    return made
  })
}

/** Afterwards the subnet exists and is counted. Throws as `createSubnets`. */
export async function placeSubnet(tx: Tx, planned: PlannedSubnet): Promise<Subnet> {
  if (!(await lockNetwork(tx, planned.networkId)))
    throw new Failure('not-found', `Network ${planned.networkId} could not be found.`)
  const subnet = await withPrefix(tx, planned)
  const others = await subnetsOfNetworks(tx, [subnet.networkId])
  refuseOverlap(subnet, others)
  refuseOtherPool(subnet, others)
  await insertSubnet(tx, subnet)
  if (isAutoAddressed(subnet)) await addAutoAddresses(tx, subnet)
  await charge(tx, subnet.projectId, 'subnet')
  return subnet
}

type PlannedSubnet = Omit<Subnet, keyof ReturnType<typeof addressing>> & {
  readonly draft: SubnetDraft
}

async function checkedSubnet(
  networks: Networks,
  requester: Requester,
  draft: SubnetDraft,
): Promise<PlannedSubnet> {
  const network = await ownNetwork(networks, requester, draft.network_id)
  const pool = await poolFor(networks, requester, draft)
  if (pool === undefined) addressing(addressed(draft, draft.cidr))
  const asked = draft.project_id ?? draft.tenant_id
  const projectId = asked === undefined ? network.projectId : ownerOf(requester, asked)
  return plannedSubnet(networks, projectId, draft, pool?.id ?? null)
}

/** The subnet of the project as the request wants it, its prefix still to be found. */
export function plannedSubnet(
  { clock }: Networks,
  projectId: string,
  draft: SubnetDraft,
  subnetPoolId: string | null,
): PlannedSubnet {
  const now = new Date(clock.now())
  return {
    id: newId(),
    projectId,
    name: draft.name ?? '',
    description: draft.description ?? '',
    networkId: draft.network_id,
    hasDhcp: draft.enable_dhcp ?? true,
    subnetPoolId,
    createdAt: now,
    updatedAt: now,
    revision: 1,
    tags: [],
    draft,
  }
}

/** The pool for the subnet; undefined: none. Throws `invalid` for an incomplete or contradictory request. */
async function poolFor(
  networks: Networks,
  requester: Requester,
  draft: SubnetDraft,
): Promise<SubnetPool | undefined> {
  const { subnetpool_id: id = null, use_default_subnetpool: usesDefault, cidr, prefixlen } = draft
  if (id !== null && usesDefault === true)
    throw refused('subnetpool_id and use_default_subnetpool cannot both be specified')
  if (cidr !== undefined && prefixlen !== undefined)
    throw refused('cidr and prefixlen must not be supplied together')
  if (id !== null) return visibleSubnetPool(networks, requester, id)
  const version = cidr === undefined ? draft.ip_version : parseCidr(cidr, 'cidr').version
  if (usesDefault === true) {
    if (version === undefined)
      throw refused('ip_version must be specified in the absence of cidr and subnetpool_id')
    const pool = await defaultSubnetPool(networks.db, version)
    if (pool !== undefined) return pool
    throw refused(`No default subnetpool found for IPv${version}`)
  }
  if (cidr === undefined) throw refused('a subnetpool must be specified in the absence of a cidr')
  return undefined
}

async function withPrefix(tx: Tx, { draft, ...subnet }: PlannedSubnet): Promise<Subnet> {
  const { subnetPoolId, projectId } = subnet
  if (subnetPoolId === null) return { ...subnet, ...addressing(addressed(draft, draft.cidr)) }
  const { cidr, prefixlen: length } = draft
  const prefix = await allocatePrefix(tx, subnetPoolId, { projectId, cidr, length })
  return { ...subnet, ...addressing(addressed(draft, prefix)) }
}

function addressed(draft: SubnetDraft, cidr = '') {
  return { ...draft, cidr, ip_version: draft.ip_version ?? parseCidr(cidr, 'cidr').version }
}

/** Neutron's rule: all subnets of a network and an IP version come from one pool. */
function refuseOtherPool({ subnetPoolId, ipVersion }: Subnet, others: readonly Subnet[]): void {
  const isOther = (each: Subnet) =>
    each.ipVersion === ipVersion && each.subnetPoolId !== subnetPoolId
  if (others.some(isOther))
    throw new NetworkFailure(
      'invalid',
      'NetworkSubnetPoolAffinityError',
      'Subnets hosted on the same network must be allocated from the same subnet pool.',
    )
}

function refused(why: string): NetworkFailure {
  return new NetworkFailure('invalid', 'BadRequest', `Bad subnets request: ${why}.`)
}

function refuseOverlap(subnet: Subnet, others: readonly Subnet[]): void {
  const cidr = parseCidr(subnet.cidr, 'cidr')
  const hit = others.find((other) => overlaps(cidr, parseCidr(other.cidr, 'cidr')))
  if (hit !== undefined)
    throw new Failure(
      'invalid',
      `Invalid input for operation: Requested subnet with cidr: ${subnet.cidr} for network: ${subnet.networkId} overlaps with another subnet.`,
    )
}
