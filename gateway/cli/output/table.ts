import { stripVTControlCharacters } from 'node:util'
import type { Emphasis, Style } from './style.ts'

/** One thing that is shown of every row. */
export interface Column<Row> {
  readonly head: string
  readonly of: (row: Row) => string | number | boolean | null
  /** Only in wide tables and in the view of a single object. */
  readonly isWide?: true
  /** Only in the view of a single object: too long for any table. */
  readonly isLong?: true
  readonly emphasis?: (row: Row) => Emphasis | undefined
}

const GAP = '  '
/** Shown for a value that is unknown or absent. */
const NOTHING = '-'

/** Rows under their heads; numbers to the right. Without rows there is nothing to show. */
export function renderTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  style: Style,
): string {
  if (rows.length === 0) return ''
  const cells = rows.map((row) => columns.map((column) => cellText(column.of(row))))
  const widths = columns.map(({ head }, nth) =>
    Math.max(head.length, ...cells.map((line) => line[nth]?.length ?? 0)),
  )
  const isNumeric = columns.map((column) => rows.every((row) => typeof column.of(row) === 'number'))
  const aligned = (text: string, nth: number) =>
    isNumeric[nth] === true ? text.padStart(widths[nth] ?? 0) : text.padEnd(widths[nth] ?? 0)
  const heads = columns.map(({ head }, nth) => style('heading', aligned(head, nth)))
  const lines = cells.map((line, at) =>
    line.map((text, nth) => {
      const row = rows[at]
      const emphasis = row === undefined ? undefined : columns[nth]?.emphasis?.(row)
      return style(emphasis, aligned(text, nth))
    }),
  )
  return [heads, ...lines].map((line) => `${line.join(GAP).trimEnd()}\n`).join('')
}

/** One thing: a line per column. */
export function renderFields<Row>(row: Row, columns: readonly Column<Row>[], style: Style): string {
  const width = Math.max(...columns.map(({ head }) => head.length))
  return columns
    .map((column) => {
      const value = style(column.emphasis?.(row), cellText(column.of(row)))
      return `${style('heading', column.head.padEnd(width))}${GAP}${value}\n`
    })
    .join('')
}

/** One line without control characters: names contain any text that their owners chose. */
function cellText(value: string | number | boolean | null): string {
  if (value === null || value === '') return NOTHING
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return stripVTControlCharacters(String(value)).replaceAll(/\p{Cc}/gu, ' ')
}
