import { type CellAccount, gatewayAccount, revokedAccount } from './accounts.ts'
import { type BusOperator, pushAccount } from './push-account.ts'

/**
 * Afterwards the gateways no longer reach the cell, its connections are closed and its credentials refused.
 * `remaining` are the cells the gateways keep. Repeating is harmless.
 */
export async function dismissCell(
  operator: BusOperator,
  gatewayKey: string,
  cell: CellAccount,
  remaining: readonly CellAccount[],
): Promise<void> {
  if (remaining.some((each) => each.cellId === cell.cellId))
    throw new Error(`Cell ${cell.cellId} is among the cells to keep`)
  await pushAccount(operator, 'gateway', gatewayKey, gatewayAccount(remaining))
  const nowS = Math.ceil(Date.now() / 1_000)
  await pushAccount(operator, cell.cellId, cell.publicKey, revokedAccount(nowS))
}
