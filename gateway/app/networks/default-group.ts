import { isDuplicate } from '#common/db/failures.ts'
import { newId } from '#common/ids.ts'
import type { SecurityGroup, SecurityGroupRule } from '../../db/network.ts'
import { countQuota } from '../../db/network-quotas.ts'
import { insertSecurityGroupRule } from '../../db/security-group-rules.ts'
import { defaultGroupId, insertSecurityGroup } from '../../db/security-groups.ts'
import type { Networks } from './list-networks.ts'

/** The id of the project's group `default`, which is made when first asked for. It counts as used, and never fails for a limit. */
export async function ensureDefaultGroup(networks: Networks, projectId: string): Promise<string> {
  const known = await defaultGroupId(networks.db, projectId)
  if (known !== undefined) return known
  const group = newDefaultGroup(projectId, new Date(networks.clock.now()))
  try {
    await networks.db.transaction(async (tx) => {
      await insertSecurityGroup(tx, group)
      for (const rule of group.rules) await insertSecurityGroupRule(tx, rule)
      await countQuota(tx, { projectId, resource: 'security_group', amount: 1 })
      const amount = group.rules.length
      await countQuota(tx, { projectId, resource: 'security_group_rule', amount })
    })
    return group.id
  } catch (error) {
    const other = isDuplicate(error) ? await defaultGroupId(networks.db, projectId) : undefined
    if (other === undefined) throw error
    return other
  }
}

function newDefaultGroup(projectId: string, now: Date): SecurityGroup {
  const id = newId<string>()
  const rules = [...egressRules(id, projectId, now), ...membersMayEnter(id, projectId, now)]
  return {
    id,
    projectId,
    name: 'default',
    description: 'Default security group',
    createdAt: now,
    updatedAt: now,
    revision: 1,
    tags: [],
    isDefault: true,
    rules,
  }
}

/** The rules of every new group: its members may send anything. */
export function egressRules(
  groupId: string,
  projectId: string,
  now: Date,
): readonly SecurityGroupRule[] {
  const plain = plainRule(groupId, projectId, now)
  return [
    { ...plain, id: newId(), direction: 'egress', etherType: 'IPv4' },
    { ...plain, id: newId(), direction: 'egress', etherType: 'IPv6' },
  ]
}

function membersMayEnter(
  groupId: string,
  projectId: string,
  now: Date,
): readonly SecurityGroupRule[] {
  const plain = { ...plainRule(groupId, projectId, now), remoteGroupId: groupId }
  return [
    { ...plain, id: newId(), direction: 'ingress', etherType: 'IPv4' },
    { ...plain, id: newId(), direction: 'ingress', etherType: 'IPv6' },
  ]
}

function plainRule(groupId: string, projectId: string, now: Date) {
  return {
    groupId,
    projectId,
    description: '',
    protocol: null,
    portMin: null,
    portMax: null,
    remoteCidr: null,
    remoteGroupId: null,
    createdAt: now,
  } as const
}
