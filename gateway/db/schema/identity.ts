import {
  bigint,
  boolean,
  index,
  int,
  json,
  mysqlTable,
  primaryKey,
  text,
  uniqueIndex,
  varchar,
} from 'drizzle-orm/mysql-core'
import { text255, time, token } from '#common/db/columns.ts'

/** Keystone's ids: 32 hexadecimal digits, or a word such as `default`. */
const keystoneId = (name: string) => token(name)
/** SHA-256, hexadecimal. */
const digest = (name: string) => token(name)

export const domains = mysqlTable('domains', {
  id: keystoneId('id').primaryKey(),
  name: text255('name').notNull().unique(),
  description: text('description').notNull(),
  enabled: boolean('enabled').notNull(),
})

export const projects = mysqlTable(
  'projects',
  {
    id: keystoneId('id').primaryKey(),
    domainId: keystoneId('domain_id').notNull(),
    name: text255('name').notNull(),
    description: text('description').notNull(),
    enabled: boolean('enabled').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [uniqueIndex('projects_name').on(t.domainId, t.name)],
)

export const users = mysqlTable(
  'users',
  {
    id: keystoneId('id').primaryKey(),
    domainId: keystoneId('domain_id').notNull(),
    name: text255('name').notNull(),
    /** scrypt, with its parameters and salt. */
    passwordHash: varchar('password_hash', { length: 255 }).notNull(),
    defaultProjectId: keystoneId('default_project_id'),
    email: text255('email'),
    description: text('description').notNull(),
    enabled: boolean('enabled').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [uniqueIndex('users_name').on(t.domainId, t.name)],
)

export const roles = mysqlTable('roles', {
  id: keystoneId('id').primaryKey(),
  name: text255('name').notNull().unique(),
  description: text('description').notNull(),
})

/** Whoever has the prior role has the implied one, too. */
export const impliedRoles = mysqlTable(
  'implied_roles',
  {
    priorRoleId: keystoneId('prior_role_id').notNull(),
    impliedRoleId: keystoneId('implied_role_id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.priorRoleId, t.impliedRoleId] })],
)

export const roleAssignments = mysqlTable(
  'role_assignments',
  {
    userId: keystoneId('user_id').notNull(),
    /** `project`, `domain` or `system`. */
    targetType: token('target_type', 8).notNull(),
    /** '' for the system, which is one. */
    targetId: keystoneId('target_id').notNull(),
    roleId: keystoneId('role_id').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.userId, t.targetType, t.targetId, t.roleId] }),
    index('role_assignments_target').on(t.targetType, t.targetId),
  ],
)

export const applicationCredentials = mysqlTable(
  'application_credentials',
  {
    id: keystoneId('id').primaryKey(),
    userId: keystoneId('user_id').notNull(),
    projectId: keystoneId('project_id').notNull(),
    name: text255('name').notNull(),
    description: text('description'),
    secretHash: varchar('secret_hash', { length: 255 }).notNull(),
    unrestricted: boolean('unrestricted').notNull(),
    /** Ids of the roles it was given, a list of text. */
    roleIds: json('role_ids').notNull(),
    expiresAt: time('expires_at'),
    createdAt: time('created_at').notNull(),
  },
  (t) => [uniqueIndex('application_credentials_name').on(t.userId, t.name)],
)

/** Every token that may still be valid; a revoked one has no row. */
export const tokens = mysqlTable(
  'tokens',
  {
    id: digest('id').primaryKey(),
    auditId: token('audit_id', 32).notNull(),
    /** The audit id of the token this one was made from, kept over any number of rescopings. */
    auditChainId: token('audit_chain_id', 32).notNull(),
    userId: keystoneId('user_id').notNull(),
    /** `none`, `project`, `domain` or `system`. */
    scopeType: token('scope_type', 8).notNull(),
    scopeId: keystoneId('scope_id').notNull(),
    applicationCredentialId: keystoneId('application_credential_id'),
    /** Names of the methods it was got by, a list of text. */
    methods: json('methods').notNull(),
    issuedAt: time('issued_at').notNull(),
    expiresAt: time('expires_at').notNull(),
  },
  (t) => [
    index('tokens_expiry').on(t.expiresAt),
    index('tokens_user').on(t.userId),
    index('tokens_credential').on(t.applicationCredentialId),
    index('tokens_scope').on(t.scopeType, t.scopeId),
  ],
)

/** The number of the last revocation, one row. Whoever revokes holds its lock until commit, so numbers appear in order. */
export const revocationCounter = mysqlTable('revocation_counter', {
  id: int('id').primaryKey(),
  last: bigint('last', { mode: 'number' }).notNull(),
})

/** What gateways must drop from their token caches: one token, or everything when `tokenId` is null. */
export const revocations = mysqlTable(
  'revocations',
  {
    number: bigint('number', { mode: 'number' }).primaryKey(),
    tokenId: digest('token_id'),
    createdAt: time('created_at').notNull(),
  },
  (t) => [index('revocations_age').on(t.createdAt)],
)
