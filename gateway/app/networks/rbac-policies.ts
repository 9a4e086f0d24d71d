import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid, newId } from '#common/ids.ts'
import type { Network } from '../../db/network.ts'
import { countQuota } from '../../db/network-quotas.ts'
import { findNetworks, lockNetwork } from '../../db/networks.ts'
import {
  changeTarget,
  deleteRbacPolicy as deleteRow,
  EVERY_PROJECT,
  findRbacPolicy,
  insertRbacPolicy,
  isReliedOn,
  listRbacPolicies as listRows,
  policiesOfNetwork,
  type RbacPolicy,
} from '../../db/rbac-policies.ts'
import type { Requester } from '../requester.ts'
import type { Networks } from './list-networks.ts'
import { type FilterKinds, type Listed, type ListQuery, listed, pageOf } from './list-query.ts'
import { charge, refund } from './quotas.ts'
import { isOwner, ownerOf, scopeOf, visibleNetwork } from './visible.ts'

export interface RbacPolicyDraft {
  readonly object_id: string
  readonly target_project: string
  readonly project_id?: string | undefined
}

const FILTERS: FilterKinds = {
  id: 'text',
  project_id: 'text',
  tenant_id: 'text',
  object_id: 'text',
  object_type: 'text',
  action: 'text',
  target_project: 'text',
  target_tenant: 'text',
}

/** A page of the policies the requester may see. */
export async function listRbacPolicies(
  { db }: Networks,
  requester: Requester,
  query: ListQuery,
): Promise<Listed<RbacPolicy>> {
  const page = pageOf(query, FILTERS)
  return listed(await listRows(db, scopeOf(requester), page), page)
}

/** The policy, if it is the requester's; else `not-found`. */
export async function ownRbacPolicy(
  { db }: Networks,
  requester: Requester,
  id: string,
): Promise<RbacPolicy> {
  const policy = isUuid(id) ? await findRbacPolicy(db, id) : undefined
  if (policy !== undefined && isOwner(requester, policy)) return policy
  throw notFound(id)
}

/**
 * Afterwards the target's servers and ports may use the network. Throws `not-found` for a network that the requester
 * may not see, `invalid` for a network of another project, `conflict` for an existing policy, `forbidden` for sharing
 * with every project unless the requester is an administrator, `over-quota`.
 */
export async function createRbacPolicy(
  networks: Networks,
  requester: Requester,
  draft: RbacPolicyDraft,
): Promise<RbacPolicy> {
  const projectId = ownerOf(requester, draft.project_id)
  refuseEveryProject(requester, draft.target_project)
  const network = await visibleNetwork(networks, requester, draft.object_id)
  refuseForeign(requester, network)
  const policy = {
    id: newId<string>(),
    projectId,
    networkId: network.id,
    target: draft.target_project,
  }
  await networks.db.transaction(async (tx) => {
    await hold(tx, network.id)
    if (!(await insertRbacPolicy(tx, policy))) throw duplicate()
    await charge(tx, projectId, 'rbac_policy')
  })
  return policy
}

/** Afterwards the policy is for this target. Throws `conflict` while the former one relies on it, and as the creation does. */
export async function retargetRbacPolicy(
  networks: Networks,
  requester: Requester,
  id: string,
  target: string,
): Promise<RbacPolicy> {
  const before = await ownRbacPolicy(networks, requester, id)
  refuseEveryProject(requester, target)
  if (before.target === target) return before
  const after = { ...before, target }
  await networks.db.transaction(async (tx) => {
    await hold(tx, before.networkId)
    if ((await findRbacPolicy(tx, id)) === undefined) throw notFound(id)
    if (!(await changeTarget(tx, after))) throw duplicate()
    // Looked for under no id, the policy counts with its new target.
    await refuseReliedOn(tx, { ...before, id: '' })
  })
  return after
}

/** Afterwards there is no such policy. Throws `conflict` while a project has ports that rely on it. */
export async function deleteRbacPolicy(
  networks: Networks,
  requester: Requester,
  id: string,
): Promise<void> {
  const policy = await ownRbacPolicy(networks, requester, id)
  await networks.db.transaction(async (tx) => {
    await drop(tx, policy)
    refund(tx, policy.projectId, 'rbac_policy')
  })
}

/**
 * Afterwards every project shares the network, or only those with policies of their own: its `shared` stands for the
 * policy with every project as its target. Throws `conflict` while ports rely on it. Part of a transaction that holds
 * the network.
 */
export async function shareWithEveryone(
  tx: Tx,
  { id: networkId, projectId }: Network,
  isShared: boolean,
): Promise<void> {
  const [policy] = await policiesOfNetwork(tx, networkId, EVERY_PROJECT)
  if (isShared === (policy !== undefined)) return
  if (policy === undefined) {
    await insertRbacPolicy(tx, { id: newId(), projectId, networkId, target: EVERY_PROJECT })
    await countQuota(tx, { projectId, resource: 'rbac_policy', amount: 1 })
    return
  }
  if (await isReliedOn(tx, policy, projectId)) throw inUse(networkId)
  await deleteRow(tx, policy)
  refund(tx, policy.projectId, 'rbac_policy')
}

/** Part of the network's deletion. */
export async function dropPoliciesOf(tx: Tx, networkId: string): Promise<void> {
  for (const policy of await policiesOfNetwork(tx, networkId)) {
    await deleteRow(tx, policy)
    refund(tx, policy.projectId, 'rbac_policy')
  }
}

async function drop(tx: Tx, policy: RbacPolicy): Promise<void> {
  await hold(tx, policy.networkId)
  await refuseReliedOn(tx, policy)
  if (!(await deleteRow(tx, policy))) throw notFound(policy.id)
}

async function refuseReliedOn(tx: Tx, policy: RbacPolicy): Promise<void> {
  const { networkId } = policy
  const [network] = await findNetworks(tx, [networkId])
  if (await isReliedOn(tx, policy, network!.projectId))
    throw new Failure(
      'conflict',
      `RBAC policy on object ${networkId} cannot be removed because other objects depend on it.\nDetails: ${inUse(networkId).message}`,
    )
}

function notFound(id: string): Failure {
  return new Failure('not-found', `RBAC policy of type network with ID ${id} not found`)
}

async function hold(tx: Tx, networkId: string): Promise<void> {
  if (!(await lockNetwork(tx, networkId)))
    throw new Failure('not-found', `Network ${networkId} could not be found.`)
}

function refuseEveryProject({ isAdmin }: Requester, target: string): void {
  if (target === EVERY_PROJECT && !isAdmin)
    throw new Failure('forbidden', 'Only an administrator may share a network with every project.')
}

function refuseForeign(requester: Requester, network: Network): void {
  if (isOwner(requester, network)) return
  throw new Failure('invalid', 'Only admins can manipulate policies on networks they do not own.')
}

function duplicate(): Failure {
  return new Failure('conflict', 'An RBAC policy already exists with those values.')
}

function inUse(networkId: string): Failure {
  return new Failure(
    'conflict',
    `Unable to reconfigure sharing settings for network ${networkId}. Multiple tenants are using it.`,
  )
}
