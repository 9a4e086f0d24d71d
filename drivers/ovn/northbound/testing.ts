import type { OvnHost } from './network-index.ts'
import { isReferences, type NorthboundTable, type WantedRow } from './rows.ts'

/** A living host that maps the physical network `physnet`. */
export function host(chassis: string, more: Partial<OvnHost> = {}): OvnHost {
  return {
    chassis,
    encapAddress: '10.9.0.1',
    physicalNetworks: ['physnet'],
    isAlive: true,
    ...more,
  }
}

/** The rows of a table. */
export function inTable(rows: readonly WantedRow[], table: NorthboundTable): readonly WantedRow[] {
  return rows.filter((row) => row.table === table)
}

/** The columns of one row; empty where there is no such row. */
export function columnsOf(
  rows: readonly WantedRow[],
  table: NorthboundTable,
  id: string,
): WantedRow['columns'] {
  return rows.find((row) => row.table === table && row.id === id)?.columns ?? {}
}

/** The ids of the rows to which a column refers; undefined where it holds no references. */
export function refersTo(
  rows: readonly WantedRow[],
  table: NorthboundTable,
  id: string,
  column: string,
): readonly string[] | undefined {
  const value = columnsOf(rows, table, id)[column] ?? null
  return isReferences(value) ? value.refersTo.map((to) => to.id) : undefined
}
