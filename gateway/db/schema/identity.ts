import {
  bigint,
  boolean,
  customType,
  index,
  int,
  json,
  mysqlTable,
  primaryKey,
  text,
  uniqueIndex,
  varchar,
} from 'drizzle-orm/mysql-core'
import { lockVersion, text255, time, token } from '#common/db/columns.ts'

/**
 * Keystone's ids: 32 hexadecimal digits, or a word such as `default`. Any Unicode, because clients look things up by
 * name where an id belongs, and an ASCII column refuses to be compared with other characters.
 */
const keystoneId = (name: string, length = 64) =>
  customType<{ data: string; driverData: string }>({
    dataType: () => `varchar(${length}) character set utf8mb4 collate utf8mb4_bin`,
  })(name)
/** A name that is compared without regard to case, as by a Keystone on MySQL. */
const nameText = customType<{ data: string; driverData: string }>({
  dataType: () => 'varchar(255) character set utf8mb4 collate utf8mb4_general_ci',
})
/** SHA-256, hexadecimal. */
const digest = (name: string) => token(name)

export const domains = mysqlTable('domains', {
  id: keystoneId('id').primaryKey(),
  lockVersion: lockVersion(),
  name: nameText('name').notNull().unique(),
  description: text('description').notNull(),
  enabled: boolean('enabled').notNull(),
  immutable: boolean('immutable').notNull(),
})

export const projects = mysqlTable(
  'projects',
  {
    id: keystoneId('id').primaryKey(),
    lockVersion: lockVersion(),
    domainId: keystoneId('domain_id').notNull(),
    /** Null right below the domain; never changes. */
    parentId: keystoneId('parent_id'),
    /** Ids of the projects above, the topmost first, divided by commas: as FIND_IN_SET reads them. */
    ancestors: keystoneId('ancestors', 512).notNull(),
    name: nameText('name').notNull(),
    description: text('description').notNull(),
    enabled: boolean('enabled').notNull(),
    immutable: boolean('immutable').notNull(),
    /** A list of text. */
    tags: json('tags').notNull(),
    /** What clients added beyond the known properties, by name. */
    extra: json('extra').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [
    uniqueIndex('projects_name').on(t.domainId, t.name),
    index('projects_parent').on(t.parentId),
  ],
)

export const users = mysqlTable(
  'users',
  {
    id: keystoneId('id').primaryKey(),
    lockVersion: lockVersion(),
    domainId: keystoneId('domain_id').notNull(),
    name: nameText('name').notNull(),
    /** scrypt, with its parameters and salt; null for a user no password opens. */
    passwordHash: varchar('password_hash', { length: 255 }),
    defaultProjectId: keystoneId('default_project_id'),
    email: text255('email'),
    description: text('description').notNull(),
    enabled: boolean('enabled').notNull(),
    /** `UserOptions` of the document. */
    options: json('options').notNull(),
    /** What clients added beyond the known properties, by name. */
    extra: json('extra').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [uniqueIndex('users_name').on(t.domainId, t.name)],
)

/** Keystone's groups; the bare word is reserved in SQL. */
export const userGroups = mysqlTable(
  'user_groups',
  {
    id: keystoneId('id').primaryKey(),
    lockVersion: lockVersion(),
    domainId: keystoneId('domain_id').notNull(),
    name: nameText('name').notNull(),
    description: text('description').notNull(),
    /** What clients added beyond the known properties, by name. */
    extra: json('extra').notNull(),
  },
  (t) => [uniqueIndex('user_groups_name').on(t.domainId, t.name)],
)

export const groupMembers = mysqlTable(
  'group_members',
  {
    groupId: keystoneId('group_id').notNull(),
    userId: keystoneId('user_id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.groupId, t.userId] }), index('group_members_user').on(t.userId)],
)

export const roles = mysqlTable(
  'roles',
  {
    id: keystoneId('id').primaryKey(),
    lockVersion: lockVersion(),
    /** '' for a role of the whole cloud. */
    domainId: keystoneId('domain_id').notNull(),
    name: nameText('name').notNull(),
    description: text('description').notNull(),
    immutable: boolean('immutable').notNull(),
    /** What clients added beyond the known properties, by name. */
    extra: json('extra').notNull(),
  },
  (t) => [uniqueIndex('roles_name').on(t.domainId, t.name)],
)

/** A user with the prior role has the implied one, too. */
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
    /** `user` or `group`. */
    actorType: token('actor_type', 8).notNull(),
    actorId: keystoneId('actor_id').notNull(),
    /** `project`, `domain` or `system`. */
    targetType: token('target_type', 8).notNull(),
    /** '' for the system, which is one. */
    targetId: keystoneId('target_id').notNull(),
    roleId: keystoneId('role_id').notNull(),
    /** True: it holds in the projects below the target, and not on the target. */
    inherited: boolean('inherited').notNull(),
  },
  (t) => [
    primaryKey({
      // The name that would be made up is longer than MySQL takes.
      name: 'role_assignments_pk',
      columns: [t.actorType, t.actorId, t.targetType, t.targetId, t.roleId, t.inherited],
    }),
    index('role_assignments_target').on(t.targetType, t.targetId),
    index('role_assignments_role').on(t.roleId),
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
    /** Ids of the only requests it may make, a list of text; null: any. */
    accessRuleIds: json('access_rule_ids'),
    expiresAt: time('expires_at'),
    createdAt: time('created_at').notNull(),
  },
  (t) => [
    uniqueIndex('application_credentials_name').on(t.userId, t.name),
    index('application_credentials_project').on(t.projectId),
  ],
)

/** Delegations of users to others: some of their roles in one project. */
export const trusts = mysqlTable(
  'trusts',
  {
    id: keystoneId('id').primaryKey(),
    trustorUserId: keystoneId('trustor_user_id').notNull(),
    trusteeUserId: keystoneId('trustee_user_id').notNull(),
    /** Null: it lends nothing. */
    projectId: keystoneId('project_id'),
    impersonation: boolean('impersonation').notNull(),
    /** Ids of the roles, a list of text. */
    roleIds: json('role_ids').notNull(),
    expiresAt: time('expires_at'),
    /** How many tokens can still be had; null: any number. */
    remainingUses: int('remaining_uses'),
    /** The trust by which this one was given on. */
    redelegatedTrustId: keystoneId('redelegated_trust_id'),
    /** How many further times it can be given on. */
    redelegationCount: int('redelegation_count').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [
    index('trusts_trustor').on(t.trustorUserId),
    index('trusts_trustee').on(t.trusteeUserId),
    index('trusts_project').on(t.projectId),
    index('trusts_redelegated').on(t.redelegatedTrustId),
    index('trusts_expiry').on(t.expiresAt),
  ],
)

/** What other services know users by. */
export const credentials = mysqlTable(
  'credentials',
  {
    id: keystoneId('id').primaryKey(),
    userId: keystoneId('user_id').notNull(),
    projectId: keystoneId('project_id'),
    type: text255('type').notNull(),
    sealedBlob: text('sealed_blob').notNull(),
    createdAt: time('created_at').notNull(),
  },
  (t) => [
    index('credentials_user').on(t.userId, t.type),
    index('credentials_project').on(t.projectId),
  ],
)

/** Rules that other services keep here. */
export const policies = mysqlTable('policies', {
  id: keystoneId('id').primaryKey(),
  type: text255('type').notNull(),
  blob: text('blob').notNull(),
  /** What clients added beyond the known properties, by name. */
  extra: json('extra').notNull(),
})

export const accessRules = mysqlTable(
  'access_rules',
  {
    id: keystoneId('id').primaryKey(),
    userId: keystoneId('user_id').notNull(),
    /** A type in the catalog, such as `compute`. */
    service: text255('service').notNull(),
    method: token('method', 8).notNull(),
    path: varchar('path', { length: 128 }).notNull(),
  },
  (t) => [uniqueIndex('access_rules_content').on(t.userId, t.service, t.method, t.path)],
)

/** Regions registered besides that of this deployment. */
export const regions = mysqlTable(
  'regions',
  {
    id: text255('id').primaryKey(),
    parentRegionId: text255('parent_region_id'),
    description: text('description').notNull(),
    /** What clients added beyond the known properties, by name. */
    extra: json('extra').notNull(),
  },
  (t) => [index('regions_parent').on(t.parentRegionId)],
)

export const catalogServices = mysqlTable('catalog_services', {
  id: keystoneId('id').primaryKey(),
  type: text255('type').notNull(),
  name: text255('name').notNull(),
  description: text('description').notNull(),
  /** What clients added beyond the known properties, by name. */
  extra: json('extra').notNull(),
  enabled: boolean('enabled').notNull(),
})

export const catalogEndpoints = mysqlTable(
  'catalog_endpoints',
  {
    id: keystoneId('id').primaryKey(),
    /** A registered service, or one that is served here. */
    serviceId: keystoneId('service_id').notNull(),
    interface: token('interface', 8).notNull(),
    regionId: text255('region_id'),
    url: varchar('url', { length: 2048 }).notNull(),
    enabled: boolean('enabled').notNull(),
    /** What clients added beyond the known properties, by name. */
    extra: json('extra').notNull(),
  },
  (t) => [
    index('catalog_endpoints_service').on(t.serviceId),
    index('catalog_endpoints_region').on(t.regionId),
  ],
)

/** How much of a resource any project may have of a service, unless a limit of its own says otherwise. */
export const registeredLimits = mysqlTable(
  'registered_limits',
  {
    id: keystoneId('id').primaryKey(),
    lockVersion: lockVersion(),
    serviceId: keystoneId('service_id').notNull(),
    /** '' for every region. */
    regionId: text255('region_id').notNull(),
    resourceName: text255('resource_name').notNull(),
    defaultLimit: int('default_limit').notNull(),
    description: text('description'),
  },
  (t) => [
    uniqueIndex('registered_limits_resource').on(t.serviceId, t.regionId, t.resourceName),
    index('registered_limits_region').on(t.regionId),
  ],
)

/** The limit of one project or domain, in place of the registered one. */
export const ownLimits = mysqlTable(
  'own_limits',
  {
    id: keystoneId('id').primaryKey(),
    registeredId: keystoneId('registered_id').notNull(),
    /** `project` or `domain`. */
    ownerType: token('owner_type', 8).notNull(),
    ownerId: keystoneId('owner_id').notNull(),
    resourceLimit: int('resource_limit').notNull(),
    description: text('description'),
  },
  (t) => [
    uniqueIndex('own_limits_resource').on(t.registeredId, t.ownerType, t.ownerId),
    index('own_limits_owner').on(t.ownerType, t.ownerId),
  ],
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
    trustId: keystoneId('trust_id'),
    /** Names of the methods it was got by, a list of text. */
    methods: json('methods').notNull(),
    issuedAt: time('issued_at').notNull(),
    expiresAt: time('expires_at').notNull(),
  },
  (t) => [
    index('tokens_expiry').on(t.expiresAt),
    index('tokens_user').on(t.userId),
    index('tokens_credential').on(t.applicationCredentialId),
    index('tokens_trust').on(t.trustId),
    index('tokens_scope').on(t.scopeType, t.scopeId),
  ],
)

/**
 * The number of the last revocation, one row. A transaction that revokes holds its lock until commit, so numbers
 * appear in order.
 */
export const revocationCounter = mysqlTable('revocation_counter', {
  id: int('id').primaryKey(),
  last: bigint('last', { mode: 'number' }).notNull(),
})

/** Revocations that gateways apply to their token caches: of one token, or of all when `tokenId` is null. */
export const revocations = mysqlTable(
  'revocations',
  {
    number: bigint('number', { mode: 'number' }).primaryKey(),
    tokenId: digest('token_id'),
    createdAt: time('created_at').notNull(),
  },
  (t) => [index('revocations_age').on(t.createdAt)],
)
