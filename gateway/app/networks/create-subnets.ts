import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { AddressRange, HostRoute, Subnet } from '../../db/network.ts'
import { lockNetwork } from '../../db/networks.ts'
import { insertSubnet, subnetsOfNetworks } from '../../db/subnets.ts'
import type { Requester } from '../requester.ts'
import { overlaps, parseCidr } from './ip.ts'
import type { Networks } from './networks.ts'
import { charge } from './quotas.ts'
import { addressing } from './subnet-addressing.ts'
import { ownerOf, ownNetwork } from './visible.ts'

export interface SubnetDraft {
  readonly network_id: string
  readonly cidr: string
  readonly ip_version: 4 | 6
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
}

/**
 * Afterwards all of these subnets exist, or none. Throws `invalid` for addresses that do not fit together or overlap
 * another subnet.
 */
export async function createSubnets(
  networks: Networks,
  requester: Requester,
  drafts: readonly SubnetDraft[],
): Promise<readonly Subnet[]> {
  const made: Subnet[] = []
  for (const draft of drafts) made.push(await newSubnet(networks, requester, draft))
  await networks.db.transaction(async (tx) => {
    for (const subnet of made) {
      if (!(await lockNetwork(tx, subnet.networkId)))
        throw new Failure('not-found', `Network ${subnet.networkId} could not be found.`)
      refuseOverlap(subnet, await subnetsOfNetworks(tx, [subnet.networkId]))
      await insertSubnet(tx, subnet)
      await charge(tx, subnet.projectId, 'subnet')
    }
  })
  return made
}

async function newSubnet(
  networks: Networks,
  requester: Requester,
  draft: SubnetDraft,
): Promise<Subnet> {
  const network = await ownNetwork(networks, requester, draft.network_id)
  const now = new Date(networks.clock.now())
  const asked = draft.project_id ?? draft.tenant_id
  return {
    id: newId(),
    projectId: asked === undefined ? network.projectId : ownerOf(requester, asked),
    name: draft.name ?? '',
    description: draft.description ?? '',
    networkId: network.id,
    hasDhcp: draft.enable_dhcp ?? true,
    createdAt: now,
    updatedAt: now,
    revision: 1,
    tags: [],
    ...addressing(draft),
  }
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
