import { bigint, int, mysqlTable, primaryKey } from 'drizzle-orm/mysql-core'
import { time, token, uuid } from '#common/db/columns.ts'

/**
 * One per host, under the host's id. `used*` are the sums of its allocations; a claim raises them by one conditional
 * update against `*Limit`, which is what the host has, times its allocation ratio, rounded down.
 */
export const resourceProviders = mysqlTable('resource_providers', {
  id: uuid('id').primaryKey(),
  name: token('name').notNull(),
  /** Grows with every change of usage or inventory. */
  generation: int('generation').notNull(),
  vcpusLimit: bigint('vcpus_limit', { mode: 'number' }).notNull(),
  memoryMbLimit: bigint('memory_mb_limit', { mode: 'number' }).notNull(),
  diskGbLimit: bigint('disk_gb_limit', { mode: 'number' }).notNull(),
  vcpusUsed: bigint('vcpus_used', { mode: 'number' }).notNull().default(0),
  memoryMbUsed: bigint('memory_mb_used', { mode: 'number' }).notNull().default(0),
  diskGbUsed: bigint('disk_gb_used', { mode: 'number' }).notNull().default(0),
  instances: int('instances').notNull().default(0),
})

/** A host's inventory and usage of the classes that operators named. `used` is the sum of its allocations, as above. */
export const customResources = mysqlTable(
  'custom_resources',
  {
    providerId: uuid('provider_id').notNull(),
    resourceClass: token('resource_class').notNull(),
    limit: bigint('limit', { mode: 'number' }).notNull(),
    used: bigint('used', { mode: 'number' }).notNull().default(0),
  },
  (t) => [primaryKey({ columns: [t.providerId, t.resourceClass] })],
)

/** Who holds how much of what. The consumer is a server, or a migration that holds its source. */
export const allocations = mysqlTable(
  'allocations',
  {
    consumerId: uuid('consumer_id').notNull(),
    providerId: uuid('provider_id').notNull(),
    resourceClass: token('resource_class').notNull(),
    used: bigint('used', { mode: 'number' }).notNull(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.consumerId, t.providerId, t.resourceClass] })],
)

/**
 * How many servers of a group each host holds: `slot` is the host. The row with an empty slot counts all of them, and
 * names the host of an affinity group; a joining server locks it first, so that two never deadlock.
 */
export const groupHosts = mysqlTable(
  'group_hosts',
  {
    groupId: uuid('group_id').notNull(),
    slot: token('slot', 36).notNull(),
    hostId: uuid('host_id').notNull(),
    members: int('members').notNull(),
  },
  (t) => [primaryKey({ columns: [t.groupId, t.slot] })],
)

/** On which host a server is counted. */
export const groupMembers = mysqlTable('group_members', {
  consumerId: uuid('consumer_id').primaryKey(),
  groupId: uuid('group_id').notNull(),
  hostId: uuid('host_id').notNull(),
})
