import { boolean, index, int, json, mysqlTable, primaryKey, text } from 'drizzle-orm/mysql-core'
import { lockVersion, text255, time, token, uuid } from '#common/db/columns.ts'
import type { TypeEncryption } from '../volume-types.ts'

/** Kinds of volumes that users choose from. */
export const volumeTypes = mysqlTable(
  'volume_types',
  {
    id: uuid('id').primaryKey(),
    name: text255('name').notNull().unique('volume_types_name'),
    description: text('description'),
    isPublic: boolean('is_public').notNull(),
    extraSpecs: json('extra_specs').$type<Readonly<Record<string, string>>>().notNull(),
    /** How its volumes are encrypted; null: they are not. */
    encryption: json('encryption').$type<TypeEncryption>(),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at'),
    lockVersion: lockVersion(),
  },
  (t) => [index('volume_types_created').on(t.createdAt, t.id)],
)

/** Which projects see a type that is not public. */
export const volumeTypeAccess = mysqlTable(
  'volume_type_access',
  {
    typeId: uuid('type_id').notNull(),
    projectId: token('project_id').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.typeId, t.projectId] }),
    index('volume_type_access_project').on(t.projectId),
  ],
)

/** The type of a project's volumes for which none is named. */
export const defaultVolumeTypes = mysqlTable(
  'default_volume_types',
  {
    projectId: token('project_id').primaryKey(),
    typeId: uuid('type_id').notNull(),
  },
  (t) => [index('default_volume_types_type').on(t.typeId)],
)

/**
 * Limits and usage of volumes. A resource is `volumes`, `snapshots`, `gigabytes`, and each of them with the id of a type
 * behind it; or one that is limited only, such as `per_volume_gigabytes`.
 */
export const volumeQuotas = mysqlTable(
  'volume_quotas',
  {
    projectId: token('project_id').notNull(),
    resource: token('resource').notNull(),
    used: int('used').notNull().default(0),
    /** -1 is unlimited; null while the default holds. */
    limit: int('hard_limit'),
  },
  (t) => [
    primaryKey({ columns: [t.projectId, t.resource] }),
    index('volume_quotas_resource').on(t.resource),
  ],
)

/** Limits of projects without limits of their own. Only the class `default` has an effect. */
export const volumeQuotaClasses = mysqlTable(
  'volume_quota_classes',
  {
    className: text255('class_name').notNull(),
    resource: token('resource').notNull(),
    limit: int('hard_limit').notNull(),
  },
  (t) => [primaryKey({ columns: [t.className, t.resource] })],
)

/** What users are told about work that failed after it was accepted. */
export const volumeMessages = mysqlTable(
  'volume_messages',
  {
    id: uuid('id').primaryKey(),
    projectId: token('project_id').notNull(),
    requestId: token('request_id').notNull(),
    resourceType: token('resource_type', 32).notNull(),
    resourceId: uuid('resource_id').notNull(),
    eventId: token('event_id').notNull(),
    text: text('text').notNull(),
    level: token('level', 16).notNull(),
    createdAt: time('created_at').notNull(),
    expiresAt: time('expires_at').notNull(),
  },
  (t) => [
    index('volume_messages_project').on(t.projectId, t.createdAt, t.id),
    index('volume_messages_expiry').on(t.expiresAt),
  ],
)
