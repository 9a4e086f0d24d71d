import { createConnection, type RowDataPacket } from 'mysql2/promise'

/** The tables of a database, by name. */
export async function tablesOf(databaseUrl: string): Promise<readonly string[]> {
  const connection = await createConnection({ uri: databaseUrl })
  try {
    const [rows] = await connection.query<RowDataPacket[]>(
      'select table_name as name from information_schema.tables where table_schema = database()',
    )
    return rows.map(({ name }) => String(name)).toSorted()
  } finally {
    await connection.end()
  }
}

/** Which of the texts stand anywhere in a database, as `table.column: text`. Every row of every table is read. */
export async function findTexts(
  databaseUrl: string,
  texts: readonly string[],
): Promise<readonly string[]> {
  const connection = await createConnection({ uri: databaseUrl })
  try {
    const found: string[] = []
    for (const table of await tablesOf(databaseUrl)) {
      const [rows] = await connection.query<RowDataPacket[]>('select * from ??', [table])
      const cells = rows.flatMap((row) => Object.entries(row))
      found.push(...cells.flatMap(([column, value]) => hits(`${table}.${column}`, value, texts)))
    }
    return [...new Set(found)]
  } finally {
    await connection.end()
  }
}

function hits(where: string, value: unknown, texts: readonly string[]): readonly string[] {
  const held = textOf(value)
  return texts.filter((text) => held.includes(text)).map((text) => `${where}: ${text}`)
}

function textOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return value.toString('utf8')
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
