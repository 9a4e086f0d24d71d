import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import { mappedPhysicalNetworks } from '../../db/cell-networks.ts'
import { hasFloatingIps } from '../../db/floating-ips.ts'
import type { Network } from '../../db/network.ts'
import {
  deleteNetworkRows,
  findNetworks,
  lockNetwork,
  portsOnNetwork,
  updateNetwork as writeNetwork,
} from '../../db/networks.ts'
import { isGatewayNetwork } from '../../db/routers.ts'
import { subnetsOfNetworks } from '../../db/subnets.ts'
import type { Requester } from '../requester.ts'
import { retryStale } from '../retry-stale.ts'
import { requireNetworkEngine, requireRouting } from './engine.ts'
import type { Networks } from './list-networks.ts'
import { removeMetadataPort } from './metadata-ports.ts'
import { NetworkFailure } from './network-failure.ts'
import {
  namesProvider,
  ofOneSegment,
  type ProviderFields,
  providerOf,
  type SegmentedFields,
} from './provider.ts'
import { charge, refund } from './quotas.ts'
import { dropPoliciesOf, shareWithEveryone } from './rbac-policies.ts'
import { holdRevision } from './revision.ts'
import { defaultExists, insertWithKey, randomNetworkKey } from './tunnel-keys.ts'
import { ownerOf, ownNetwork } from './visible.ts'

/** A network as requests write it. */
interface NetworkFields extends ProviderFields {
  readonly name?: string
  readonly description?: string
  readonly admin_state_up?: boolean
  readonly shared?: boolean
  readonly 'router:external'?: boolean
  readonly mtu?: number
  readonly port_security_enabled?: boolean
  readonly dns_domain?: string
  /** Of external networks. */
  readonly is_default?: boolean
  /** An attribute of Weir: the cells that have a segment; absent or null for every present and future cell. */
  readonly 'weir:cells'?: readonly string[] | null
}

export interface NetworkDraft extends NetworkFields, SegmentedFields {
  readonly project_id?: string
  readonly tenant_id?: string
}

/**
 * Afterwards all of these networks exist, or none. Throws `forbidden` for attributes of administrators, `over-quota`,
 * `conflict` for a VLAN or key that is taken, `invalid` for a physical network that no host maps.
 */
export async function createNetworks(
  networks: Networks,
  requester: Requester,
  written: readonly NetworkDraft[],
): Promise<readonly Network[]> {
  const drafts = written.map((draft) => ofOneSegment(draft))
  const planned = drafts.map((draft) => newNetwork(networks, requester, draft))
  for (const draft of drafts) await refuseWithoutEngine(networks, draft)
  await refuseUnmapped(networks, planned)
  return networks.db.transaction(async (tx) => {
    const made: Network[] = []
    for (const [index, network] of planned.entries()) {
      const isKeyChosen = typeof drafts[index]?.['provider:segmentation_id'] === 'number'
      made.push(await placeNetwork(tx, network, isKeyChosen))
      if (network.isShared) await shareWithEveryone(tx, network, true)
    }
    return made
  })
}

/** Afterwards the network exists and is counted. Throws `conflict`, `over-quota`. */
export async function placeNetwork(
  tx: Tx,
  network: Network,
  isKeyChosen = false,
): Promise<Network> {
  const placed = await insertWithKey(tx, network, isKeyChosen)
  await charge(tx, network.projectId, 'network')
  return placed
}

/** The network that a request wants, with a key that may be another's. Throws as the creation does. */
export function newNetwork(networks: Networks, requester: Requester, draft: NetworkDraft): Network {
  const now = new Date(networks.clock.now())
  const blank: Network = {
    id: newId(),
    projectId: ownerOf(requester, draft.project_id ?? draft.tenant_id),
    name: '',
    description: '',
    isUp: true,
    isShared: false,
    isExternal: false,
    mtu: networks.mtuMax,
    dnsDomain: '',
    isDefault: false,
    hasPortSecurity: true,
    isEverywhere: true,
    cellIds: [],
    physicalNetwork: null,
    vlanId: null,
    tunnelKey: randomNetworkKey(),
    subnetIds: [],
    createdAt: now,
    updatedAt: now,
    revision: 1,
    tags: [],
  }
  if (!namesProvider(draft)) return withFields(networks, requester, blank, draft)
  if (!requester.isAdmin)
    throw new Failure('forbidden', 'Only an administrator may set attributes of provider networks.')
  return withFields(networks, requester, { ...blank, ...providerOf(draft, blank) }, draft)
}

/** Refuses provider networks on which no server could ever be reached, in the words of Neutron's type drivers. */
async function refuseUnmapped({ db }: Networks, planned: readonly Network[]): Promise<void> {
  const wanted = planned.filter(({ physicalNetwork }) => physicalNetwork !== null)
  if (wanted.length === 0) return
  const mapped = await mappedPhysicalNetworks(db)
  for (const { physicalNetwork, vlanId } of wanted) {
    if (mapped.includes(physicalNetwork!)) continue
    const type = vlanId === 0 ? 'flat' : 'vlan'
    const known = mapped.length === 0 ? 'No host maps any' : `Known are: ${mapped.join(', ')}`
    throw new Failure(
      'invalid',
      `Invalid input for operation: physical_network '${physicalNetwork}' unknown for ${type} provider network. ${known}. A host maps it to a bridge with ovn-bridge-mappings.`,
    )
  }
}

async function refuseWithoutEngine({ db }: Networks, fields: NetworkFields): Promise<void> {
  if (fields['router:external'] === true) await requireRouting(db, 'An external network')
  if (namesProvider(fields)) await requireRouting(db, 'A provider network')
  if ((fields.dns_domain ?? '') !== '') await requireNetworkEngine(db, 'dns_domain of a network')
}

/** The network with these fields set. Throws `forbidden` for those only administrators may set, `invalid` for an MTU too large. */
function withFields(
  networks: Networks,
  requester: Requester,
  network: Network,
  fields: NetworkFields,
): Network {
  const changed: Network = {
    ...network,
    name: fields.name ?? network.name,
    description: fields.description ?? network.description,
    isUp: fields.admin_state_up ?? network.isUp,
    isShared: fields.shared ?? network.isShared,
    isExternal: fields['router:external'] ?? network.isExternal,
    mtu: fields.mtu ?? network.mtu,
    hasPortSecurity: fields.port_security_enabled ?? network.hasPortSecurity,
    dnsDomain: fields.dns_domain === undefined ? network.dnsDomain : domainOf(fields.dns_domain),
    isDefault: fields.is_default ?? network.isDefault,
    ...segmentsOf(network, fields['weir:cells']),
  }
  if (changed.mtu > networks.mtuMax)
    throw new Failure(
      'invalid',
      `Invalid input for mtu: ${changed.mtu} is above the largest MTU of this cloud, ${networks.mtuMax}.`,
    )
  if (!requester.isAdmin) refuseAdminFields(network, changed)
  if (changed.isExternal || !changed.isDefault) return changed
  if (fields.is_default !== true) return { ...changed, isDefault: false }
  throw new Failure(
    'invalid',
    'Invalid input for is_default: only an external network can be the default network.',
  )
}

function domainOf(text: string): string {
  const domain = text.toLowerCase().replace(/\.$/, '')
  const isDomain = domain
    .split('.')
    .every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label))
  if (domain === '' || isDomain) return domain
  throw new Failure('invalid', `Invalid input for dns_domain: '${text}' is not a domain name.`)
}

function segmentsOf(
  { isEverywhere, cellIds: before }: Network,
  cellIds: readonly string[] | null | undefined,
): Pick<Network, 'isEverywhere' | 'cellIds'> {
  if (cellIds === undefined) return { isEverywhere, cellIds: before }
  if (cellIds === null) return { isEverywhere: true, cellIds: [] }
  return { isEverywhere: false, cellIds: [...new Set(cellIds)] }
}

function refuseAdminFields(before: Network, after: Network): void {
  const isReachChanged =
    before.isEverywhere !== after.isEverywhere || before.cellIds !== after.cellIds
  const refused = [
    before.isShared !== after.isShared ? 'shared' : '',
    before.isExternal !== after.isExternal ? 'router:external' : '',
    before.isDefault !== after.isDefault ? 'is_default' : '',
    isReachChanged ? 'weir:cells' : '',
  ].filter((name) => name !== '')
  if (refused.length > 0)
    throw new Failure('forbidden', `Only an administrator may set ${refused.join(', ')}.`)
}

/** Afterwards the network has these fields. Throws `conflict` when it cannot stop being shared or external. */
export function updateNetwork(
  networks: Networks,
  ...asked: [
    requester: Requester,
    id: string,
    fields: NetworkFields,
    wantedRevision?: number | undefined,
  ]
): Promise<Network> {
  return retryStale(networks.clock, () => changeNetwork(networks, ...asked))
}

async function changeNetwork(
  networks: Networks,
  requester: Requester,
  id: string,
  fields: NetworkFields,
  wantedRevision?: number,
): Promise<Network> {
  const before = await ownNetwork(networks, requester, id)
  if (namesProvider(fields))
    throw new Failure(
      'invalid',
      'Invalid input for operation: Plugin does not support updating provider attributes.',
    )
  const after = withFields(networks, requester, before, fields)
  await refuseWithoutEngine(
    networks,
    after.isExternal === before.isExternal ? { dns_domain: fields.dns_domain ?? '' } : fields,
  )
  await networks.db.transaction(async (tx) => {
    await lockNetwork(tx, id)
    await holdRevision(tx, 'networks', id, wantedRevision)
    if (before.isExternal && !after.isExternal) await refuseExternalInUse(tx, id)
    if (before.isShared !== after.isShared) await shareWithEveryone(tx, before, after.isShared)
    if (!(await writeNetwork(tx, after, new Date(networks.clock.now()))))
      throw await defaultExists(tx)
  })
  const [changed] = await findNetworks(networks.db, [id])
  if (changed === undefined) throw new Failure('not-found', `Network ${id} could not be found.`)
  return changed
}

async function refuseExternalInUse(tx: Tx, id: string): Promise<void> {
  if (!(await isGatewayNetwork(tx, id)) && !(await hasFloatingIps(tx, id))) return
  throw new NetworkFailure(
    'conflict',
    'ExternalNetworkInUse',
    `External network ${id} cannot be updated to be made non-external, since it has existing gateway ports or floating IPs.`,
  )
}

const NAMED_PORTS_MAX = 5

/** Afterwards the network and its subnets are gone. Throws `conflict` while ports are on it. */
export async function deleteNetwork(
  networks: Networks,
  requester: Requester,
  id: string,
  wantedRevision?: number,
): Promise<void> {
  const network = await ownNetwork(networks, requester, id)
  await networks.db.transaction(async (tx) => {
    if (!(await lockNetwork(tx, id)))
      throw new Failure('not-found', `Network ${id} could not be found.`)
    await holdRevision(tx, 'networks', id, wantedRevision)
    await dropNetwork(tx, network)
  })
}

/** Afterwards the network and its subnets are gone. Part of a transaction that holds it. Throws `conflict` while ports are on it. */
export async function dropNetwork(tx: Tx, { id, projectId }: Network): Promise<void> {
  await removeMetadataPort(tx, id)
  const ports = await portsOnNetwork(tx, id, NAMED_PORTS_MAX)
  if (ports.length > 0)
    throw new NetworkFailure(
      'conflict',
      'NetworkInUse',
      `Unable to complete operation on network ${id}. There are one or more ports still in use on the network, id for these ports is: ${ports.join(',')}.`,
    )
  const subnets = await subnetsOfNetworks(tx, [id])
  await dropPoliciesOf(tx, id)
  await deleteNetworkRows(tx, id)
  const owners = Map.groupBy(subnets, (subnet) => subnet.projectId)
  for (const [owner, owned] of owners) refund(tx, owner, 'subnet', owned.length)
  refund(tx, projectId, 'network')
}
