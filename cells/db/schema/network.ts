import { int, json, mysqlTable, primaryKey } from 'drizzle-orm/mysql-core'
import { token, uuid } from '#common/db/columns.ts'

/** The objects that gateways want in the cell's network engine. */
export const networkObjects = mysqlTable(
  'network_objects',
  {
    /** The list of `NetworkState` that it is in. */
    kind: token('kind', 16).notNull(),
    id: uuid('id').notNull(),
    digest: token('digest', 44).notNull(),
    body: json('body').$type<object>().notNull(),
  },
  (t) => [primaryKey({ columns: [t.kind, t.id] })],
)

/** One row: the generation of the lease of the gateway that wrote last, and a number that grows with each change. */
export const networkWriter = mysqlTable('network_writer', {
  id: int('id').primaryKey(),
  generation: int('generation').notNull(),
  version: int('version').notNull(),
})
