import { boolean, int, json, mysqlTable, primaryKey } from 'drizzle-orm/mysql-core'
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

/** Whether each port works, as OVN said last; of a port that it has not plugged in yet there is none. */
export const portBindings = mysqlTable('port_bindings', {
  portId: uuid('port_id').primaryKey(),
  isUp: boolean('is_up').notNull(),
})

/** One row: the generation of the lease of the gateway that wrote last, and a number that grows with each change. */
export const networkWriter = mysqlTable('network_writer', {
  id: int('id').primaryKey(),
  generation: int('generation').notNull(),
  version: int('version').notNull(),
})
