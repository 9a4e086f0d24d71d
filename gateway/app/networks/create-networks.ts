import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { Network } from '../../db/network.ts'
import { insertNetwork } from '../../db/networks.ts'
import type { Requester } from '../requester.ts'
import type { Networks } from './networks.ts'
import { charge } from './quotas.ts'
import { shareWithEveryone } from './rbac-policies.ts'
import { ownerOf } from './visible.ts'

/** A network as requests write it. */
export interface NetworkFields {
  readonly name?: string
  readonly description?: string
  readonly admin_state_up?: boolean
  readonly shared?: boolean
  readonly 'router:external'?: boolean
  readonly mtu?: number
  readonly port_security_enabled?: boolean
  /** Our own: the cells that have a segment; absent or null for every cell there is and will be. */
  readonly 'weir:cells'?: readonly string[] | null
}

export interface NetworkDraft extends NetworkFields {
  readonly project_id?: string
  readonly tenant_id?: string
}

/** Afterwards all of these networks exist, or none. Throws `forbidden` for what only administrators may ask for, `over-quota`. */
export async function createNetworks(
  networks: Networks,
  requester: Requester,
  drafts: readonly NetworkDraft[],
): Promise<readonly Network[]> {
  const made = drafts.map((draft) => newNetwork(networks, requester, draft))
  await networks.db.transaction(async (tx) => {
    for (const network of made) {
      await insertNetwork(tx, network)
      await charge(tx, network.projectId, 'network')
      if (network.isShared) await shareWithEveryone(tx, network, true)
    }
  })
  return made
}

function newNetwork(networks: Networks, requester: Requester, draft: NetworkDraft): Network {
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
    hasPortSecurity: true,
    isEverywhere: true,
    cellIds: [],
    subnetIds: [],
    createdAt: now,
    updatedAt: now,
    revision: 1,
    tags: [],
  }
  return withFields(networks, requester, blank, draft)
}

/** The network with these fields set. Throws `forbidden` for those only administrators may set, `invalid` for an MTU too large. */
export function withFields(
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
    ...segmentsOf(network, fields['weir:cells']),
  }
  if (changed.mtu > networks.mtuMax)
    throw new Failure('invalid', `Invalid input for mtu: the largest here is ${networks.mtuMax}.`)
  if (!requester.isAdmin) refuseAdminFields(network, changed)
  return changed
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
    isReachChanged ? 'weir:cells' : '',
  ].filter((name) => name !== '')
  if (refused.length > 0)
    throw new Failure('forbidden', `Only an administrator may set ${refused.join(', ')}.`)
}
