import type { Format } from './format.ts'
import type { Style } from './style.ts'
import { type Column, renderFields, renderTable } from './table.ts'

/** What a command shows, in every format. Whatever the API gave goes into JSON and YAML as it is. */
export interface View {
  readonly data: unknown
  /** For people. `isWide` asks for everything. */
  text(isWide: boolean, style: Style): string
  readonly names: readonly string[]
}

/** How a kind of thing is shown. */
export interface Listing<Row> {
  readonly columns: readonly Column<Row>[]
  /** By which other commands find it. */
  readonly nameOf: (row: Row) => string
}

export function listView<Row>(rows: readonly Row[], { columns, nameOf }: Listing<Row>): View {
  return {
    data: rows,
    text: (isWide, style) => renderTable(rows, shownColumns(columns, isWide), style),
    names: rows.map(nameOf),
  }
}

/** A single thing, with everything that is known of it. */
export function fieldsView<Row>(row: Row, { columns, nameOf }: Listing<Row>): View {
  return {
    data: row,
    text: (_isWide, style) => renderFields(row, columns, style),
    names: [nameOf(row)],
  }
}

/** The view as text that ends with a newline, or is empty. */
export async function rendered(view: View, format: Format, style: Style): Promise<string> {
  switch (format) {
    case 'json':
      return `${JSON.stringify(view.data, null, 2)}\n`
    case 'yaml':
      return (await import('yaml')).stringify(view.data)
    case 'name':
      return view.names.map((name) => `${name}\n`).join('')
    case 'table':
    case 'wide':
      return view.text(format === 'wide', style)
  }
}

function shownColumns<Row>(columns: readonly Column<Row>[], isWide: boolean) {
  return columns.filter((column) => isWide || column.isWide !== true)
}
