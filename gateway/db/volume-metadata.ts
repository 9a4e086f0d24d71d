import { and, type SQL, sql } from 'drizzle-orm'
import type { MySqlColumn } from 'drizzle-orm/mysql-core'
import type { FilterValue } from './resource-page.ts'

/** The condition that a JSON object has each of the pairs `KEY=VALUE`. */
export function hasMetadata(metadata: MySqlColumn, pairs: readonly FilterValue[]): SQL {
  return and(...pairs.map((pair) => hasPair(metadata, String(pair)))) ?? sql`true`
}

function hasPair(metadata: MySqlColumn, pair: string): SQL {
  const at = pair.indexOf('=')
  const path = `$.${JSON.stringify(pair.slice(0, at))}`
  return sql`json_value(${metadata}, ${path}) = ${pair.slice(at + 1)}`
}
