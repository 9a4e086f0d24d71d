import { sum } from 'drizzle-orm'
import { stores } from '#cells/db/schema/volumes.ts'
import { Database } from '#common/db/database.ts'
import { errorChain } from '#common/errors.ts'
import { cellDatabase } from '../up/prepare-databases.ts'
import type { Finding } from './finding.ts'

/** Whether stores hold volumes and snapshots that the cells of this deployment made and do not know any more. */
export async function examineStores(
  cells: readonly { readonly name: string }[],
  urlOf: (database: string) => string,
): Promise<Finding> {
  try {
    const counts = await Promise.all(
      cells.map(async ({ name }) => ({ name, count: await unknownAt(urlOf(cellDatabase(name))) })),
    )
    const found = counts.filter(({ count }) => count > 0)
    if (found.length === 0)
      return { is: 'ok', what: 'stores hold nothing that their cells do not know' }
    const named = found.map(({ name, count }) => `${name} ${count}`).join(', ')
    return {
      is: 'note',
      what: `volumes and snapshots in stores that their cells do not know: ${named} (./weir logs cell-NAME names them; they stay until you remove them)`,
    }
  } catch (error) {
    return { is: 'bad', what: `the stores of cells cannot be examined: ${errorChain(error)}` }
  }
}

async function unknownAt(url: string): Promise<number> {
  await using db = new Database({ url, connectionsMax: 1 })
  const [row] = await db.orm.select({ count: sum(stores.unknownObjects) }).from(stores)
  return Number(row?.count ?? 0)
}
