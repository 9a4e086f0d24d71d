import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { SecurityGroup } from '../../db/network.ts'
import { insertSecurityGroupRule } from '../../db/security-group-rules.ts'
import {
  deleteSecurityGroupRows,
  findSecurityGroup,
  insertSecurityGroup,
  isGroupInUse,
  lockSecurityGroup,
  updateSecurityGroup as writeGroup,
} from '../../db/security-groups.ts'
import type { Requester } from '../requester.ts'
import { retryStale } from '../retry-stale.ts'
import { egressRules, ensureDefaultGroup } from './default-group.ts'
import type { Networks } from './list-networks.ts'
import { charge, refund } from './quotas.ts'
import { holdRevision } from './revision.ts'
import { ownerOf, ownSecurityGroup } from './visible.ts'

export interface GroupDraft {
  readonly name?: string
  readonly description?: string
  readonly project_id?: string
  readonly tenant_id?: string
}

/** As `createSecurityGroups`, of one. */
export async function createSecurityGroup(
  networks: Networks,
  requester: Requester,
  draft: GroupDraft,
): Promise<SecurityGroup> {
  const [group] = await createSecurityGroups(networks, requester, [draft])
  return group!
}

/**
 * Afterwards all of the groups exist, letting their members send anything, or none. Throws `conflict` for the name
 * `default`, `over-quota`.
 */
export async function createSecurityGroups(
  networks: Networks,
  requester: Requester,
  drafts: readonly GroupDraft[],
): Promise<readonly SecurityGroup[]> {
  if (drafts.some(({ name }) => name === 'default'))
    throw new Failure('conflict', 'Default security group already exists.')
  const groups = drafts.map((draft) => newGroup(networks, requester, draft))
  for (const projectId of new Set(groups.map((group) => group.projectId)))
    await ensureDefaultGroup(networks, projectId)
  await networks.db.transaction(async (tx) => {
    for (const group of groups) {
      const { projectId, rules } = group
      await insertSecurityGroup(tx, group)
      for (const rule of rules) await insertSecurityGroupRule(tx, rule)
      await charge(tx, projectId, 'security_group')
      await charge(tx, projectId, 'security_group_rule', rules.length)
    }
  })
  return groups
}

function newGroup(networks: Networks, requester: Requester, draft: GroupDraft): SecurityGroup {
  const projectId = ownerOf(requester, draft.project_id ?? draft.tenant_id)
  const now = new Date(networks.clock.now())
  const id = newId<string>()
  return {
    id,
    projectId,
    name: draft.name ?? '',
    description: draft.description ?? '',
    createdAt: now,
    updatedAt: now,
    revision: 1,
    tags: [],
    isDefault: false,
    rules: egressRules(id, projectId, now),
  }
}

/** Afterwards the group has this name and description. The default group keeps its name. */
export function updateSecurityGroup(
  networks: Networks,
  ...asked: [
    requester: Requester,
    id: string,
    change: Pick<GroupDraft, 'name' | 'description'>,
    wantedRevision?: number | undefined,
  ]
): Promise<SecurityGroup> {
  return retryStale(networks.clock, () => changeSecurityGroup(networks, ...asked))
}

async function changeSecurityGroup(
  networks: Networks,
  requester: Requester,
  id: string,
  change: Pick<GroupDraft, 'name' | 'description'>,
  wantedRevision?: number,
): Promise<SecurityGroup> {
  const group = await ownSecurityGroup(networks, requester, id)
  if (group.isDefault && change.name !== undefined && change.name !== group.name)
    throw new Failure('conflict', 'Updating default security group not allowed.')
  const { name = group.name, description = group.description } = change
  const now = new Date(networks.clock.now())
  await networks.db.transaction(async (tx) => {
    await holdRevision(tx, 'security-groups', id, wantedRevision)
    await writeGroup(tx, { ...group, name, description }, now)
  })
  const changed = await findSecurityGroup(networks.db, id)
  if (changed === undefined) throw new Failure('not-found', `Security group ${id} does not exist`)
  return changed
}

/** Afterwards the group is gone, and every rule that named it. Throws `conflict` while a port has it. */
export async function deleteSecurityGroup(
  networks: Networks,
  requester: Requester,
  id: string,
  wantedRevision?: number,
): Promise<void> {
  const group = await ownSecurityGroup(networks, requester, id)
  if (group.isDefault && !requester.isAdmin)
    throw new Failure('conflict', 'Insufficient rights for removing default security group.')
  await networks.db.transaction(async (tx) => {
    if (!(await lockSecurityGroup(tx, id)))
      throw new Failure('not-found', `Security group ${id} does not exist`)
    await holdRevision(tx, 'security-groups', id, wantedRevision)
    if (await isGroupInUse(tx, id)) throw new Failure('conflict', `Security Group ${id} in use.`)
    const charged = await deleteSecurityGroupRows(tx, id)
    refund(tx, group.projectId, 'security_group')
    for (const [projectId, amount] of charged) refund(tx, projectId, 'security_group_rule', amount)
  })
}
