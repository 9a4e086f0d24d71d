import { createHash } from 'node:crypto'
import { eq, inArray } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { usualProtocol } from '#common/ip-protocols.ts'
import type { SecurityGroupRule } from './network.ts'
import { type Collection, type ResourcePage, readPage } from './resource-page.ts'
import { securityGroupRules as rules } from './schema/network.ts'

const SECURITY_GROUP_RULES: Collection = {
  table: rules,
  id: rules.id,
  attributes: {
    id: rules.id,
    description: rules.description,
    project_id: rules.projectId,
    tenant_id: rules.projectId,
    security_group_id: rules.groupId,
    direction: rules.direction,
    ethertype: rules.etherType,
    protocol: rules.protocol,
    port_range_min: rules.portMin,
    port_range_max: rules.portMax,
    remote_ip_prefix: rules.remoteCidr,
    remote_group_id: rules.remoteGroupId,
  },
}

/** A page of the rules of the project's groups; null sees all. */
export async function listSecurityGroupRules(
  db: Executor,
  projectId: string | null,
  page: ResourcePage,
): Promise<readonly SecurityGroupRule[]> {
  const visible = projectId === null ? undefined : eq(rules.projectId, projectId)
  return readPage(db, SECURITY_GROUP_RULES, visible, page, async ({ where, orderBy, limit }) => {
    const found = await db.orm
      .select()
      .from(rules)
      .where(where)
      .orderBy(...orderBy)
      .limit(limit)
    return found.map(toRule)
  })
}

export async function findSecurityGroupRule(
  db: Executor,
  id: string,
): Promise<SecurityGroupRule | undefined> {
  const [row] = await db.orm.select().from(rules).where(eq(rules.id, id))
  return row === undefined ? undefined : toRule(row)
}

/** The rules of these groups, oldest first. */
export async function rulesOfGroups(
  db: Executor,
  groupIds: readonly string[],
): Promise<ReadonlyMap<string, readonly SecurityGroupRule[]>> {
  if (groupIds.length === 0) return new Map()
  const rows = await db.orm
    .select()
    .from(rules)
    .where(inArray(rules.groupId, [...groupIds]))
    .orderBy(rules.createdAt, rules.id)
  return Map.groupBy(rows.map(toRule), (rule) => rule.groupId)
}

/** Adds the rule; false when its group has the same already. */
export async function insertSecurityGroupRule(tx: Tx, rule: SecurityGroupRule): Promise<boolean> {
  try {
    await tx.orm.insert(rules).values({ ...rule, identity: identityOf(rule) })
    return true
  } catch (error) {
    if (isDuplicate(error, 'security_group_rules_by_identity')) return false
    throw error
  }
}

/** Afterwards there is no such rule; false when there was none. */
export async function deleteSecurityGroupRuleRow(tx: Tx, id: string): Promise<boolean> {
  const [result] = await tx.orm.delete(rules).where(eq(rules.id, id))
  return result.affectedRows === 1
}

/** NULLs never collide in a unique key, so the parts of a rule are compared by their digest. A number is as good as its name. */
function identityOf(rule: SecurityGroupRule): string {
  const { direction, etherType, portMin, portMax, remoteCidr, remoteGroupId } = rule
  const protocol = rule.protocol === null ? null : usualProtocol(rule.protocol)
  const parts = [direction, etherType, protocol, portMin, portMax, remoteCidr, remoteGroupId]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

function toRule(row: typeof rules.$inferSelect): SecurityGroupRule {
  const { identity: _identity, ...rule } = row
  return {
    ...rule,
    direction: row.direction === 'egress' ? 'egress' : 'ingress',
    etherType: row.etherType === 'IPv6' ? 'IPv6' : 'IPv4',
  }
}
