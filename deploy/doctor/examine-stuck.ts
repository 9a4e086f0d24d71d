import { Database } from '#common/db/database.ts'
import { errorChain } from '#common/errors.ts'
import { countStuck } from '#common/saga/stuck.ts'
import { countStuckInCells } from '#gateway/db/cell-sagas.ts'
import { countStuckRows } from '#gateway/db/reconciler-rows.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { cellDatabase } from '../up/prepare-databases.ts'
import type { Finding } from './finding.ts'

type Databases = Pick<DeploymentState, 'gateways'> & {
  readonly cells: readonly { readonly name: string }[]
}

/** Whether operations wait for an operator, as `countStuckIn` counts them. */
export async function examineStuck(
  databases: Databases,
  urlOf: (database: string) => string,
): Promise<Finding> {
  try {
    const stuck = await countStuckIn(databases, urlOf)
    if (stuck === 0) return { is: 'ok', what: 'no operation is stuck' }
    return {
      is: 'bad',
      what: `stuck operations: ${stuck} (./weir operation list --state failed shows the reasons, ./weir operation continue ID continues one)`,
    }
  } catch (error) {
    return { is: 'bad', what: `stuck operations cannot be counted: ${errorChain(error)}` }
  }
}

/**
 * How many operations wait for an operator: of a deployment with a gateway those of all its cells, of a cell elsewhere its
 * own. `urlOf` gives the URL of a database by its name.
 */
export async function countStuckIn(
  { gateways, cells }: Databases,
  urlOf: (database: string) => string,
): Promise<number> {
  const counts =
    gateways.length > 0
      ? [countStuckAt('gateway', urlOf('weir'))]
      : cells.map(({ name }) => countStuckAt('cell', urlOf(cellDatabase(name))))
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
}

/** The same of one database. */
export function countStuckAt(kind: 'gateway' | 'cell', url: string): Promise<number> {
  return withDatabase(url, kind === 'gateway' ? inGateway : countStuck)
}

async function inGateway(db: Database): Promise<number> {
  return (await countStuck(db)) + (await countStuckInCells(db)) + (await countStuckRows(db))
}

async function withDatabase(
  url: string,
  count: (db: Database) => Promise<number>,
): Promise<number> {
  await using db = new Database({ url, connectionsMax: 1 })
  return await count(db)
}
