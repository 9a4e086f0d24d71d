import { type SQL, sql } from 'drizzle-orm'
import type { MySqlColumn } from 'drizzle-orm/mysql-core'
import { LRUCache } from 'lru-cache'

/** Distinct texts kept parsed; one is some hundred bytes. */
const KEPT = 2_000
const kept = new LRUCache<string, object>({ max: KEPT })

/** A JSON column as its text: parsing all of them is half of what reading a page of servers costs the client. */
export function jsonText(column: MySqlColumn, name: string): SQL.Aliased<string> {
  return sql<string>`cast(${column} as char)`.as(name)
}

/** The value of a text that many rows have, parsed once. It is shared, so it must never be changed. */
export function parseShared<T extends object>(text: string): T {
  const known = kept.get(text)
  if (known !== undefined) return known as T
  const value = JSON.parse(text) as T
  kept.set(text, value)
  return value
}
