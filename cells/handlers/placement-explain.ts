import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { decideOnFreshHosts } from '../conductor/decide.ts'

/** The decision that a build would be answered with now. */
export async function placementExplain(
  { conductor }: Cell,
  ask: CellAsk<'placement.explain'>,
): Promise<CellAnswer<'placement.explain'>> {
  const decision = await decideOnFreshHosts(conductor, ask)
  const chosen = decision.selection.hosts[0]?.name ?? null
  return { trace: decision.trace({ lostClaims: [], chosen }) }
}
