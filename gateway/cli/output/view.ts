import { csv } from './csv.ts'
import type { Format } from './format.ts'
import type { Style } from './style.ts'
import { type Column, renderFields, renderTable } from './table.ts'

/** The output of a command, in every format. JSON and YAML contain the API's answer unchanged. */
export interface View {
  readonly data: unknown
  /** The lines of CSV; absent: `data`, which is a list or a single object. */
  readonly records?: readonly unknown[]
  /** For people. `isWide` asks for everything. */
  text(isWide: boolean, style: Style): string
  readonly names: readonly string[]
}

/** How a kind of thing is shown. */
export interface Listing<Row> {
  readonly columns: readonly Column<Row>[]
  /** By which other commands find it. */
  readonly nameOf: (row: Row) => string
  /** The plural of the object: an empty list says that there are none. */
  readonly plural: string
}

/** A part of the view of a single object. */
export interface Part {
  readonly heading: string
  readonly view: Pick<View, 'text'>
}

export function listView<Row>(rows: readonly Row[], listing: Listing<Row>): View {
  const { columns, nameOf, plural } = listing
  return {
    data: rows,
    text: (isWide, style) =>
      rows.length === 0
        ? `No ${plural}.\n`
        : renderTable(rows, shownColumns(columns, isWide), style),
    names: rows.map(nameOf),
  }
}

/** The view of a single object, with all fields. */
export function fieldsView<Row>(row: Row, { columns, nameOf }: Listing<Row>): View {
  return {
    data: row,
    text: (_isWide, style) => renderFields(row, columns, style),
    names: [nameOf(row)],
  }
}

/** A single thing and what belongs to it, each part below its heading; `data` has it all. */
export function viewWithParts(view: View, parts: readonly Part[], data: unknown): View {
  return {
    ...view,
    data,
    text: (isWide, style) => [view.text(isWide, style), partsText(parts, isWide, style)].join('\n'),
  }
}

/** Parts, each below its heading, with an empty line between them. */
export function partsText(parts: readonly Part[], isWide: boolean, style: Style): string {
  return parts
    .map(({ heading, view }) => `${style('heading', heading)}\n${view.text(isWide, style)}`)
    .join('\n')
}

/** The view as text that ends with a newline, or is empty. */
export async function rendered(view: View, format: Format, style: Style): Promise<string> {
  switch (format) {
    case 'json':
      return `${JSON.stringify(view.data, null, 2)}\n`
    case 'yaml':
      return (await import('yaml')).stringify(view.data)
    case 'csv':
      return csv(view.records ?? (Array.isArray(view.data) ? view.data : [view.data]))
    case 'name':
      return view.names.map((name) => `${name}\n`).join('')
    case 'table':
    case 'wide':
      return view.text(format === 'wide', style)
  }
}

function shownColumns<Row>(columns: readonly Column<Row>[], isWide: boolean) {
  return columns.filter(
    ({ isWide: isExtra, isLong }) => isLong !== true && (isWide || isExtra !== true),
  )
}
