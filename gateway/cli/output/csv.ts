/** Records as lines of CSV (RFC 4180) below the names of their properties; what is no plain value is JSON. */
export function csv(records: readonly unknown[]): string {
  const rows = records.map((record) => flat(record))
  const heads = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  if (heads.length === 0) return ''
  const lines = [heads, ...rows.map((row) => heads.map((head) => row[head] ?? ''))]
  return lines.map((line) => `${line.map(quoted).join(',')}\r\n`).join('')
}

/** Properties of properties get names with dots. */
function flat(record: unknown, prefix = ''): Record<string, string> {
  if (!isObject(record)) return { [prefix === '' ? 'value' : prefix]: textOf(record) }
  return Object.fromEntries(
    Object.entries(record).flatMap(([name, value]) => {
      const path = prefix === '' ? name : `${prefix}.${name}`
      return isObject(value) ? Object.entries(flat(value, path)) : [[path, textOf(value)]]
    }),
  )
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** A spreadsheet takes text that begins with one of these for a formula; users choose names. */
const FORMULA = /^[=+@\t\r-]/
const NUMBER = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i

function quoted(text: string): string {
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
