import { and, eq, inArray, or, type SQL } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import { tableLookup } from '#common/db/table-lookup.ts'
import { describedCollection } from './described-collection.ts'
import type { SecurityGroup } from './network.ts'
import { type ResourcePage, readPage } from './resource-page.ts'
import { portSecurityGroups, securityGroupRules, securityGroups } from './schema/network.ts'
import { rulesOfGroups } from './security-group-rules.ts'
import { StaleRevision } from './stale-revision.ts'

const SECURITY_GROUPS = describedCollection(securityGroups, {
  attributes: {},
})

/** A page of the project's groups; null sees all. */
export async function listSecurityGroups(
  db: Executor,
  projectId: string | null,
  page: ResourcePage,
): Promise<readonly SecurityGroup[]> {
  const visible = projectId === null ? undefined : eq(securityGroups.projectId, projectId)
  return readPage(db, SECURITY_GROUPS, visible, page, ({ where, orderBy, limit }) => {
    return groupsWhere(db, where, orderBy, limit)
  })
}

export async function findSecurityGroup(
  db: Executor,
  id: string,
): Promise<SecurityGroup | undefined> {
  return (await groupsWhere(db, eq(securityGroups.id, id), [], 1))[0]
}

export async function findSecurityGroups(
  db: Executor,
  ids: readonly string[],
): Promise<readonly SecurityGroup[]> {
  if (ids.length === 0) return []
  return groupsWhere(db, inArray(securityGroups.id, [...ids]), [], ids.length)
}

/** Groups of the project whose id or name is one of these, at most `max`. */
export async function securityGroupsNamed(
  db: Executor,
  projectId: string,
  idsOrNames: readonly string[],
  max: number,
): Promise<readonly { readonly id: string; readonly name: string }[]> {
  const { id, name } = securityGroups
  const isNamed = or(inArray(id, [...idsOrNames]), inArray(name, [...idsOrNames]))
  return db.orm
    .select({ id, name })
    .from(securityGroups)
    .where(and(eq(securityGroups.projectId, projectId), isNamed))
    .limit(max)
}

const DEFAULT_GROUPS = tableLookup(securityGroups, 'defaultOf')

/** The id of the project's default group, if it has one yet. */
export async function defaultGroupId(db: Executor, projectId: string): Promise<string | undefined> {
  return (await DEFAULT_GROUPS.one(db, projectId))?.id
}

/** Inserts the group without rules. A second default group of a project is refused by its unique key. */
export async function insertSecurityGroup(tx: Tx, group: SecurityGroup): Promise<void> {
  const { isDefault, rules: _rules, ...columns } = group
  await tx.orm
    .insert(securityGroups)
    .values({ ...columns, defaultOf: isDefault ? group.projectId : null })
}

/** Afterwards name and description are as given; throws `conflict` when it changed since this revision was read. */
export async function updateSecurityGroup(tx: Tx, group: SecurityGroup, now: Date): Promise<void> {
  const { id, name, description, revision } = group
  const [result] = await tx.orm
    .update(securityGroups)
    .set({ name, description, updatedAt: now, revision: revision + 1 })
    .where(and(eq(securityGroups.id, id), eq(securityGroups.revision, revision)))
  if (result.affectedRows !== 1) throw new StaleRevision(`Security group ${id}`)
}

/** Holds the group until the transaction ends; false when there is none. */
export async function lockSecurityGroup(tx: Tx, id: string): Promise<boolean> {
  return (await lockRows(tx, securityGroups, eq(securityGroups.id, id))) === 1
}

/** True when a port has the group. */
export async function isGroupInUse(tx: Tx, id: string): Promise<boolean> {
  const rows = await tx.orm
    .select({ portId: portSecurityGroups.portId })
    .from(portSecurityGroups)
    .where(eq(portSecurityGroups.groupId, id))
    .limit(1)
    .for('update')
  return rows.length > 0
}

/** Deletes the group, its rules and those that name it as remote; the answer is how many rules of each project. */
export async function deleteSecurityGroupRows(
  tx: Tx,
  id: string,
): Promise<ReadonlyMap<string, number>> {
  const isConcerned = or(
    eq(securityGroupRules.groupId, id),
    eq(securityGroupRules.remoteGroupId, id),
  )
  const rules = await tx.orm
    .select({ projectId: securityGroupRules.projectId })
    .from(securityGroupRules)
    .where(isConcerned)
    .for('update')
  await tx.orm.delete(securityGroups).where(eq(securityGroups.id, id))
  await tx.orm.delete(securityGroupRules).where(isConcerned)
  const byProject = Map.groupBy(rules, (rule) => rule.projectId)
  return new Map([...byProject].map(([projectId, group]) => [projectId, group.length]))
}

async function groupsWhere(
  db: Executor,
  where: SQL | undefined,
  orderBy: SQL[],
  limit: number,
): Promise<readonly SecurityGroup[]> {
  const rows = await db.orm
    .select()
    .from(securityGroups)
    .where(where)
    .orderBy(...orderBy)
    .limit(limit)
  const rules = await rulesOfGroups(
    db,
    rows.map((row) => row.id),
  )
  return rows.map(({ defaultOf, ...row }) => ({
    ...row,
    isDefault: defaultOf !== null,
    rules: rules.get(row.id) ?? [],
  }))
}
