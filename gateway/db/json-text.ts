import { type SQL, sql } from 'drizzle-orm'
import type { MySqlColumn } from 'drizzle-orm/mysql-core'

/** Distinct texts kept parsed; one is some hundred bytes. */
const KEPT_MAX = 2_000
/** Emptied when full: a cache that knows what was used last costs more than it saves here. */
const kept = new Map<string, object>()

/** A JSON column as its text: parsing all of them is half of what reading a page of servers costs the client. */
export function jsonText(column: MySqlColumn, name: string): SQL.Aliased<string> {
  return sql<string>`cast(${column} as char)`.as(name)
}

/** The value of a text that many rows have, parsed once. It is shared, so it must never be changed. */
export function parseShared<T extends object>(text: string): T {
  const known = kept.get(text)
  if (known !== undefined) return known as T
  const value = JSON.parse(text) as T
  if (kept.size === KEPT_MAX) kept.clear()
  kept.set(text, value)
  return value
}
