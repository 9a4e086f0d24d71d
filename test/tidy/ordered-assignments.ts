const ASSIGNMENTS = /(?:\.set\(|\bset: |\bonDuplicateKeyUpdate\(\{\s*set: )\{/g

/**
 * Columns that one assignment of a builder's `set` reads while another of the same `set` writes them. Drizzle writes
 * assignments in the order of the schema's columns, and MariaDB carries them out in that order, so the value read is
 * the old or the new one by the order of the schema. Such a statement is written as SQL, with its order in the text.
 */
export function orderedAssignments(text: string): readonly string[] {
  return [...text.matchAll(ASSIGNMENTS)].flatMap((match) => {
    const from = match.index + match[0].length
    const assignments = partsOf(text.slice(from, endOfBlock(text, from)))
    const written = assignments.map(({ column }) => column)
    return assignments.flatMap(({ column, value }) =>
      written.filter((other) => other !== column && isRead(other, value)),
    )
  })
}

interface Assignment {
  readonly column: string
  readonly value: string
}

/** The entries of an object literal, one for each comma outside brackets and templates. */
function partsOf(block: string): readonly Assignment[] {
  const parts = ['']
  let depth = 0
  let isTemplate = false
  for (const char of block) {
    if (char === '`') isTemplate = !isTemplate
    if ('({['.includes(char)) depth += 1
    if (')}]'.includes(char)) depth -= 1
    if (char === ',' && depth === 0 && !isTemplate) parts.push('')
    else parts[parts.length - 1] += char
  }
  return parts.flatMap((part) => {
    const [, column = '', value = ''] = /^\s*(\w+): ([^]*)$/.exec(part) ?? []
    return column === '' ? [] : [{ column, value }]
  })
}

function endOfBlock(text: string, from: number): number {
  let depth = 1
  let at = from
  for (; depth > 0 && at < text.length; at += 1) {
    if (text[at] === '{') depth += 1
    if (text[at] === '}') depth -= 1
  }
  return at - 1
}

/** As `${table.column}`, or by its name in the text of an `sql` template but for the row that an insert brings. */
function isRead(column: string, value: string): boolean {
  const name = column.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const text =
    /sql`([^]*)`/.exec(value)?.[1]?.replaceAll(/values\([^)]*\)|placeholder\([^)]*\)/g, '') ?? ''
  const sqlOnly = text.replaceAll(/\$\{(?!\w+\.\w+\})[^}]*\}/g, '')
  return new RegExp(`\\$\\{\\w+\\.${column}\\}|(?<![.\\w])${name}(?!\\w)`).test(sqlOnly)
}
