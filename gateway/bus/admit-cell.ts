import { type CellAccount, cellAccount, gatewayAccount } from './accounts.ts'
import { type BusOperator, pushAccount } from './push-account.ts'

/**
 * Afterwards the cell's account works and the gateways reach it, without a restart and without disturbing other
 * cells. `cells` are all cells the gateways shall reach, the admitted one among them. Repeating is harmless.
 */
export async function admitCell(
  operator: BusOperator,
  gatewayKey: string,
  cellId: string,
  cells: readonly CellAccount[],
): Promise<void> {
  const cell = cells.find((each) => each.cellId === cellId)
  if (cell === undefined) throw new Error(`Cell ${cellId} is not among the cells to reach`)
  await pushAccount(operator, cellId, cell.publicKey, cellAccount(cellId))
  await pushAccount(operator, 'gateway', gatewayKey, gatewayAccount(cells))
}
