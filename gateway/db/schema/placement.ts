import { int, json, mysqlTable } from 'drizzle-orm/mysql-core'
import { lockVersion, time, token, uuid } from '#common/db/columns.ts'
import type { ProviderSettings } from '#openapi/wire/provider.ts'

/** Traits that administrators made, whether a host has them or not. */
export const customTraits = mysqlTable('custom_traits', {
  name: token('name', 255).primaryKey(),
  lockVersion: lockVersion(),
  createdAt: time('created_at').notNull(),
})

/** What administrators decided about hosts as resource providers. */
export const providerSettings = mysqlTable('provider_settings', {
  hostId: uuid('host_id').primaryKey(),
  lockVersion: lockVersion(),
  /** Grows with every decision. */
  generation: int('generation').notNull(),
  settings: json('settings').$type<ProviderSettings>().notNull(),
})
