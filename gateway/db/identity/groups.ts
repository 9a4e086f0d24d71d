import { and, asc, eq } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { lockRows } from '#common/db/lock-rows.ts'
import type { Extra, Group, ListFilter } from '../../app/identity/model.ts'
import { domains, userGroups as groups } from '../schema/identity.ts'
import { listConditions } from './list-conditions.ts'
import { orNameTaken } from './name-taken.ts'

const COLUMNS = {
  id: groups.id,
  name: groups.name,
  description: groups.description,
  extra: groups.extra,
  domain: { id: domains.id, name: domains.name },
}

export async function findGroup(db: Executor, id: string): Promise<Group | undefined> {
  const [group] = await listGroups(db, { ids: [id] }, 1)
  return group
}

/** Groups that fit every given filter, in the order of their ids. */
export async function listGroups(
  db: Executor,
  filter: ListFilter,
  limit: number,
): Promise<readonly Group[]> {
  if (filter.ids?.length === 0) return []
  const rows = await db.orm
    .select(COLUMNS)
    .from(groups)
    .innerJoin(domains, eq(domains.id, groups.domainId))
    .where(and(...listConditions(groups, filter)))
    .orderBy(asc(groups.id))
    .limit(limit)
  return rows.map((row) => ({ ...row, extra: row.extra as Extra }))
}

/** The group, locked until the transaction ends. */
export async function lockGroup(tx: Tx, id: string): Promise<Group | undefined> {
  await lockRows(tx, groups, eq(groups.id, id))
  return findGroup(tx, id)
}

/** Throws `conflict` for a name the domain has. */
export async function insertGroup(db: Executor, group: Group): Promise<void> {
  const { domain, ...values } = group
  const insert = db.orm.insert(groups).values({ ...values, domainId: domain.id })
  await orNameTaken('user_groups_name', 'group', group.name, insert)
}

/** Throws `conflict` for a name the domain has. */
export async function updateGroup(tx: Tx, { id, name, description, extra }: Group): Promise<void> {
  const update = tx.orm.update(groups).set({ name, description, extra }).where(eq(groups.id, id))
  await orNameTaken('user_groups_name', 'group', name, update)
}
