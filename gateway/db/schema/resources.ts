import {
  boolean,
  double,
  index,
  int,
  json,
  mysqlTable,
  primaryKey,
  text,
  varchar,
} from 'drizzle-orm/mysql-core'
import { lockVersion, text255, time, token } from '#common/db/columns.ts'

/** Flavors as they are now; servers keep a copy of theirs. Memory in MiB, disks in GiB, swap in MiB. */
export const flavors = mysqlTable(
  'flavors',
  {
    id: varchar('id', { length: 255 }).primaryKey(),
    /** What migrations call it by. */
    serial: int('serial').notNull().autoincrement().unique(),
    name: text255('name').notNull().unique('flavors_name'),
    vcpus: int('vcpus').notNull(),
    memoryMb: int('memory_mb').notNull(),
    rootGb: int('root_gb').notNull(),
    ephemeralGb: int('ephemeral_gb').notNull(),
    swapMb: int('swap_mb').notNull(),
    rxtxFactor: double('rxtx_factor').notNull(),
    isPublic: boolean('is_public').notNull(),
    /** Hidden from users and refused at boot, while servers with this flavor exist. */
    isDisabled: boolean('is_disabled').notNull().default(false),
    description: text('description'),
    extraSpecs: json('extra_specs').$type<Readonly<Record<string, string>>>().notNull(),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at'),
  },
  (t) => [index('flavors_memory').on(t.memoryMb), index('flavors_root').on(t.rootGb)],
)

/** Which projects see a flavor that is not public. */
export const flavorAccess = mysqlTable(
  'flavor_access',
  {
    flavorId: varchar('flavor_id', { length: 255 }).notNull(),
    projectId: token('project_id').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.flavorId, t.projectId] }),
    index('flavor_access_project').on(t.projectId),
  ],
)

export const keypairs = mysqlTable(
  'keypairs',
  {
    userId: token('user_id').notNull(),
    name: text255('name').notNull(),
    /** `ssh`, or `x509`. */
    type: token('type', 8).notNull(),
    publicKey: text('public_key').notNull(),
    fingerprint: token('fingerprint', 80).notNull(),
    /** The small number that clients see as `id`; nothing refers to it. */
    serial: int('serial').notNull().autoincrement().unique(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.userId, t.name] })],
)

/** Limits set for one project; -1 is unlimited. */
export const quotaLimits = mysqlTable(
  'quota_limits',
  {
    projectId: token('project_id').notNull(),
    resource: token('resource', 32).notNull(),
    hardLimit: int('hard_limit').notNull(),
  },
  (t) => [primaryKey({ columns: [t.projectId, t.resource] })],
)

/** Limits set for one user of a project, beside those of the project; -1 is unlimited. */
export const userQuotaLimits = mysqlTable(
  'user_quota_limits',
  {
    projectId: token('project_id').notNull(),
    userId: token('user_id').notNull(),
    resource: token('resource', 32).notNull(),
    hardLimit: int('hard_limit').notNull(),
  },
  (t) => [primaryKey({ columns: [t.projectId, t.userId, t.resource] })],
)

/** Limits of projects without limits of their own. Nova uses the class `default` only. */
export const quotaClasses = mysqlTable(
  'quota_classes',
  {
    className: text255('class_name').notNull(),
    resource: token('resource', 32).notNull(),
    hardLimit: int('hard_limit').notNull(),
  },
  (t) => [primaryKey({ columns: [t.className, t.resource] })],
)

/**
 * The ledger: what has been accepted and is not yet confirmed gone. The owner is a project, except for key pairs,
 * which are counted per user.
 */
export const quotaUsages = mysqlTable(
  'quota_usages',
  {
    ownerId: token('owner_id').notNull(),
    resource: token('resource', 32).notNull(),
    used: int('used').notNull(),
  },
  (t) => [primaryKey({ columns: [t.ownerId, t.resource] })],
)

/** Rows that are locked while what a project has of a kind is counted, where its usage is in no ledger. */
export const projectLocks = mysqlTable(
  'project_locks',
  {
    projectId: token('project_id').notNull(),
    resource: token('resource', 16).notNull(),
    lockVersion: lockVersion(),
  },
  (t) => [primaryKey({ columns: [t.projectId, t.resource] })],
)
