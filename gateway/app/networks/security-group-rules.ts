import { Failure } from '#common/errors.ts'
import { isUuid, newId } from '#common/ids.ts'
import type { SecurityGroupRule } from '../../db/network.ts'
import {
  deleteSecurityGroupRuleRow,
  findSecurityGroupRule,
  insertSecurityGroupRule,
  listSecurityGroupRules as readRules,
} from '../../db/security-group-rules.ts'
import { lockSecurityGroup } from '../../db/security-groups.ts'
import type { Requester } from '../requester.ts'
import type { Networks } from './list-networks.ts'
import { type FilterKinds, type Listed, type ListQuery, listed, pageOf } from './list-query.ts'
import { charge, refund } from './quotas.ts'
import { type RuleDraft, ruleOf } from './rule-of.ts'
import { isOwner, ownSecurityGroup, scopeOf } from './visible.ts'

const FILTERS: FilterKinds = {
  id: 'text',
  description: 'text',
  project_id: 'text',
  tenant_id: 'text',
  security_group_id: 'text',
  direction: 'text',
  ethertype: 'text',
  protocol: 'text',
  port_range_min: 'integer',
  port_range_max: 'integer',
  remote_ip_prefix: 'text',
  remote_group_id: 'text',
}

/** A page of the rules of the groups the requester may see. */
export async function listSecurityGroupRules(
  networks: Networks,
  requester: Requester,
  query: ListQuery,
): Promise<Listed<SecurityGroupRule>> {
  const page = pageOf(query, FILTERS)
  return listed(await readRules(networks.db, scopeOf(requester), page), page)
}

/** The rule, if its group is the requester's; else `not-found`. */
export async function visibleRule(
  networks: Networks,
  requester: Requester,
  id: string,
): Promise<SecurityGroupRule> {
  const rule = isUuid(id) ? await findSecurityGroupRule(networks.db, id) : undefined
  if (rule === undefined || !isOwner(requester, rule))
    throw new Failure('not-found', `Security group rule ${id} does not exist`)
  return rule
}

/** As `createSecurityGroupRules`, of one. */
export async function createSecurityGroupRule(
  networks: Networks,
  requester: Requester,
  draft: RuleDraft,
): Promise<SecurityGroupRule> {
  const [rule] = await createSecurityGroupRules(networks, requester, [draft])
  return rule!
}

/**
 * Afterwards the group has all of the rules, or none. Throws `conflict` when it had one, `invalid` for contradictory
 * attributes and for rules of several groups, as Neutron does.
 */
export async function createSecurityGroupRules(
  networks: Networks,
  requester: Requester,
  drafts: readonly RuleDraft[],
): Promise<readonly SecurityGroupRule[]> {
  if (new Set(drafts.map((draft) => draft.security_group_id)).size > 1)
    throw new Failure('invalid', 'Only allowed to update rules for one security profile at a time')
  const rules: SecurityGroupRule[] = []
  for (const draft of drafts) rules.push(await newRule(networks, requester, draft))
  const groupIds = rules.flatMap(({ groupId, remoteGroupId }) => [
    groupId,
    remoteGroupId ?? groupId,
  ])
  await networks.db.transaction(async (tx) => {
    // In one order, so that two rules that name each other's groups never wait for each other.
    for (const id of [...new Set(groupIds)].sort())
      if (!(await lockSecurityGroup(tx, id)))
        throw new Failure('not-found', `Security group ${id} does not exist`)
    for (const rule of rules) {
      if (!(await insertSecurityGroupRule(tx, rule)))
        throw new Failure('conflict', 'Security group rule already exists in this group.')
      await charge(tx, rule.projectId, 'security_group_rule')
    }
  })
  return rules
}

async function newRule(
  networks: Networks,
  requester: Requester,
  draft: RuleDraft,
): Promise<SecurityGroupRule> {
  const group = await ownSecurityGroup(networks, requester, draft.security_group_id)
  const remoteId = draft.remote_group_id ?? null
  if (remoteId !== null) await ownSecurityGroup(networks, requester, remoteId)
  return {
    ...ruleOf(draft),
    id: newId(),
    groupId: group.id,
    projectId: group.projectId,
    createdAt: new Date(networks.clock.now()),
  }
}

/** Afterwards the rule is gone. */
export async function deleteSecurityGroupRule(
  networks: Networks,
  requester: Requester,
  id: string,
): Promise<void> {
  const rule = await visibleRule(networks, requester, id)
  await networks.db.transaction(async (tx) => {
    if (!(await deleteSecurityGroupRuleRow(tx, id)))
      throw new Failure('not-found', `Security group rule ${id} does not exist`)
    refund(tx, rule.projectId, 'security_group_rule')
  })
}
