import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { GLOBAL_DATABASE, type Product } from '../product.ts'
import { percentile } from '../statistics.ts'
import type { Project } from './project.ts'

export interface ChoiceFigures {
  readonly choices: number
  /** How many cells were chosen at least once. */
  readonly cells: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

const CHOICES = `select json_value(trace, '$.chosen') as chosen, json_value(trace, '$.tookMs') as took
  from traces join server_index using (server_id) where level = 'cells' and project_id = ?`

/** What the choice of a cell took for each server of the project, as its own trace says. */
export async function readChoices(product: Product, project: Project): Promise<ChoiceFigures> {
  const connection = await createConnection({ uri: product.mariadb.rootUrl(GLOBAL_DATABASE) })
  try {
    const [rows] = await connection.query<RowDataPacket[]>(CHOICES, [project.id])
    const took = rows.map((row) => Number(row['took']))
    return {
      choices: rows.length,
      cells: new Set(rows.map((row) => row['chosen'] as string)).size,
      p50Ms: percentile(took, 0.5),
      p99Ms: percentile(took, 0.99),
      maxMs: percentile(took, 1),
    }
  } finally {
    await connection.end()
  }
}
