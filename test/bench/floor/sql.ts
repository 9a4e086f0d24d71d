import { and, eq, sql } from 'drizzle-orm'
import { int, json, mysqlTable } from 'drizzle-orm/mysql-core'
import { token, uuid } from '#common/db/columns.ts'
import { builder, statement } from '#common/db/statement.ts'

const tokens = mysqlTable('floor_tokens', {
  id: token('id').primaryKey(),
  project: token('project').notNull(),
})
const mappings = mysqlTable('floor_mappings', {
  id: uuid('id').primaryKey(),
  project: token('project').notNull(),
  deleting: int('deleting').notNull().default(0),
})
const servers = mysqlTable('floor_servers', {
  id: uuid('id').primaryKey(),
  project: token('project').notNull(),
  state: token('state', 16).notNull(),
  doc: json('doc').notNull(),
})
const instances = mysqlTable('floor_instances', {
  id: uuid('id').primaryKey(),
  state: token('state', 16).notNull(),
  doc: json('doc').notNull(),
})
const quotas = mysqlTable('floor_quotas', {
  project: token('project').primaryKey(),
  used: int('used').notNull(),
})
const claims = mysqlTable('floor_claims', {
  id: uuid('id').primaryKey(),
  used: int('used').notNull(),
})
const feed = mysqlTable('floor_feed', { id: uuid('id').primaryKey(), doc: json('doc').notNull() })
const hosts = mysqlTable('floor_hosts', { id: int('id').primaryKey(), used: int('used').notNull() })

const id = sql.placeholder('id')
const project = sql.placeholder('project')
const doc = sql.placeholder('doc')
const state = sql.placeholder('state')

export const GATEWAY_SQL = {
  insertToken: statement(builder.insert(tokens).values({ id, project })),
  insertMapping: statement(builder.insert(mappings).values({ id, project })),
  insertServer: statement(builder.insert(servers).values({ id, project, state, doc })),
  charge: statement(
    builder.update(quotas).set({ used: sql`used + 1` }).where(eq(quotas.project, project)),
  ),
  refund: statement(
    builder.update(quotas).set({ used: sql`used - 1` }).where(eq(quotas.project, project)),
  ),
  setState: statement(
    builder
      .update(servers)
      .set({ state: sql`${state}` })
      .where(eq(servers.id, id)),
  ),
  /** Unless the feed was quicker. */
  setSpawning: statement(
    builder
      .update(servers)
      .set({ state: 'spawning' })
      .where(and(eq(servers.id, id), eq(servers.state, 'building'))),
  ),
  markDeleting: statement(builder.update(mappings).set({ deleting: 1 }).where(eq(mappings.id, id))),
  dropMapping: statement(builder.delete(mappings).where(eq(mappings.id, id))),
} as const

export const CELL_SQL = {
  insertInstance: statement(builder.insert(instances).values({ id, state: 'building', doc })),
  insertClaim: statement(builder.insert(claims).values({ id, used: 1 })),
  dropClaim: statement(builder.delete(claims).where(eq(claims.id, id))),
  useHost: statement(
    builder
      .update(hosts)
      .set({ used: sql`used + 1` })
      .where(and(eq(hosts.id, sql.placeholder('host')), sql`used < 1000000`)),
  ),
  setState: statement(
    builder
      .update(instances)
      .set({ state: sql`${state}` })
      .where(eq(instances.id, id)),
  ),
  insertFeed: statement(builder.insert(feed).values({ id, doc })),
} as const
