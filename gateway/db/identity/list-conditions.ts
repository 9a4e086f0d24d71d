import { eq, gt, inArray, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { MySqlColumn } from 'drizzle-orm/mysql-core'
import type { ListFilter, NameMatch } from '../../app/identity/model.ts'

export interface ListColumns {
  readonly id: MySqlColumn
  readonly name: MySqlColumn
  readonly domainId?: MySqlColumn
  readonly enabled?: MySqlColumn
}

/** The conditions of a filter on the rows of one table. Lists are in the order of ids, and the marker is an id. */
export function listConditions(columns: ListColumns, filter: ListFilter): readonly SQL[] {
  const { names = [], domainId, enabled, ids, marker } = filter
  return [
    ...names.map((match) => nameCondition(columns.name, match)),
    domainId !== undefined && columns.domainId !== undefined
      ? eq(columns.domainId, domainId)
      : undefined,
    enabled !== undefined && columns.enabled !== undefined
      ? eq(columns.enabled, enabled)
      : undefined,
    ids === undefined ? undefined : inArray(columns.id, [...ids]),
    marker === undefined ? undefined : gt(columns.id, marker),
  ].filter((condition) => condition !== undefined)
}

/**
 * By position and length, not by LIKE: what a user sends is never a pattern. Parts of names are compared with their case, though
 * whole names are not.
 */
function nameCondition(column: SQLWrapper, { how, text }: NameMatch): SQL {
  const exact = sql`${column} COLLATE utf8mb4_bin`
  switch (how) {
    case 'equals':
      return sql`${column} = ${text}`
    case 'contains':
      return sql`LOCATE(${text}, ${exact}) > 0`
    case 'icontains':
      return sql`LOCATE(LOWER(${text}), LOWER(${column})) > 0`
    case 'startswith':
      return sql`LEFT(${exact}, CHAR_LENGTH(${text})) = ${text}`
    case 'istartswith':
      return sql`LEFT(LOWER(${column}), CHAR_LENGTH(${text})) = LOWER(${text})`
    case 'endswith':
      return sql`RIGHT(${exact}, CHAR_LENGTH(${text})) = ${text}`
    case 'iendswith':
      return sql`RIGHT(LOWER(${column}), CHAR_LENGTH(${text})) = LOWER(${text})`
  }
}
