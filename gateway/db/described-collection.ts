import { type SQL, sql } from 'drizzle-orm'
import type { MySqlColumn, MySqlTable } from 'drizzle-orm/mysql-core'
import type { Collection, FilterValue } from './resource-page.ts'

type DescribedTable = MySqlTable &
  Readonly<
    Record<
      'id' | 'description' | 'projectId' | 'createdAt' | 'updatedAt' | 'revision' | 'tags',
      MySqlColumn
    > & { readonly name?: MySqlColumn }
  >

/** A collection of the network service: the filters and sort keys that all collections have, and its own. */
export function describedCollection(
  table: DescribedTable,
  own: Pick<Collection, 'attributes' | 'conditions'>,
): Collection {
  return {
    table,
    id: table.id,
    attributes: {
      id: table.id,
      ...(table.name !== undefined && { name: table.name }),
      description: table.description,
      project_id: table.projectId,
      tenant_id: table.projectId,
      created_at: table.createdAt,
      updated_at: table.updatedAt,
      revision_number: table.revision,
      ...own.attributes,
    },
    conditions: {
      tags: (tags) => hasTags(table.tags, tags, sql` AND `),
      'tags-any': (tags) => hasTags(table.tags, tags, sql` OR `),
      'not-tags': (tags) => sql`NOT ${hasTags(table.tags, tags, sql` AND `)}`,
      'not-tags-any': (tags) => sql`NOT ${hasTags(table.tags, tags, sql` OR `)}`,
      ...own.conditions,
    },
  }
}

function hasTags(column: MySqlColumn, tags: readonly FilterValue[], joint: SQL): SQL {
  const each = tags.map((tag) => sql`JSON_CONTAINS(${column}, JSON_QUOTE(${tag}))`)
  return sql`(${sql.join(each, joint)})`
}
