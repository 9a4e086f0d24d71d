import { boolean, index, int, json, mysqlTable, primaryKey } from 'drizzle-orm/mysql-core'
import { text255, time, token, uuid } from '#common/db/columns.ts'

/** Rules by which operators place servers over cells. */
export const placementPolicies = mysqlTable('placement_policies', {
  id: uuid('id').primaryKey(),
  name: token('name').notNull().unique(),
  description: text255('description'),
  /** True where users may choose it by a scheduler hint. */
  isSelectable: boolean('is_selectable').notNull(),
  /** PlacementRules. */
  rules: json('rules').notNull(),
  /** Grows with every change. */
  revision: int('revision').notNull().default(0),
  createdAt: time('created_at').notNull(),
  updatedAt: time('updated_at').notNull(),
})

/** To whose servers a policy applies. A project or flavor has one policy at most, and so has the rest. */
export const placementPolicyBindings = mysqlTable(
  'placement_policy_bindings',
  {
    /** `project`, `flavor`, or `default`. */
    kind: token('kind', 16).notNull(),
    /** Of the project or flavor; empty for the default. */
    targetId: text255('target_id').notNull(),
    policyId: uuid('policy_id').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.kind, t.targetId] }),
    index('placement_policy_bindings_policy').on(t.policyId),
  ],
)
