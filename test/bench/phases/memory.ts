import { setTimeout as sleep } from 'node:timers/promises'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { rssMiB } from '../proc.ts'
import type { Product } from '../product.ts'
import { bootStorm, deleteStorm } from './storms.ts'

/** What grows where something is kept for good. */
export interface Held {
  readonly boots: number
  /** By the database's own account. */
  readonly databaseMiB: number
  readonly preparedStatements: number
  /** Resident, by process. */
  readonly processesMiB: Readonly<Record<string, number>>
}

const BATCH = 500
/** V8 gives back what was garbage, and the pools their connections, once a process has had nothing to do for some time. */
const REST_MS = 90_000
const READ_EVERY = 1_000
const BYTES_PER_MIB = 2 ** 20
const STATUS = `select lower(variable_name) as name, variable_value as value
  from information_schema.global_status where variable_name in ('memory_used', 'prepared_stmt_count')`

/** What database and processes hold now, after so many boots. */
export async function readHeld(product: Product, boots: number): Promise<Held> {
  const connection = await createConnection({ uri: product.mariadb.rootUrl() })
  try {
    const [rows] = await connection.query<RowDataPacket[]>(STATUS)
    const of = (name: string) => Number(rows.find((row) => row['name'] === name)?.['value'])
    const all = Object.entries({ ...product.processes, database: product.mariadb.process })
    return {
      boots,
      databaseMiB: of('memory_used') / BYTES_PER_MIB,
      preparedStatements: of('prepared_stmt_count'),
      processesMiB: Object.fromEntries(all.map(([name, each]) => [name, rssMiB(each)])),
    }
  } finally {
    await connection.end()
  }
}

/**
 * Boots servers with a network and deletes them, as many as asked for, and reads after every thousand, and once more when
 * all has rested.
 */
export async function measureMemory(
  product: Product,
  boots: number,
  progress: (line: string) => void,
): Promise<readonly Held[]> {
  const booter = { ...product, requests: { create: product.createOnNetwork } }
  const readings: Held[] = []
  for (let done = 0; done < boots; ) {
    const count = Math.min(BATCH, boots - done)
    await deleteStorm(product, (await bootStorm(booter, count, `bench-memory-${done}`)).ids)
    done += count
    if (done % READ_EVERY !== 0 && done !== boots) continue
    progress(`${done} booted and deleted ...`)
    readings.push(await readHeld(product, done))
  }
  progress('Waiting until all has rested ...')
  await sleep(REST_MS)
  return [...readings, await readHeld(product, boots)]
}
