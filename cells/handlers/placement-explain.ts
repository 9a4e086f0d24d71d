import type { CellAnswer, CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../cell.ts'
import { countFitting } from '../conductor/count-fitting.ts'
import { decideOnFreshHosts } from '../conductor/decide.ts'

/** The decision that a build would be answered with now; of several servers also how many would be accepted. */
export async function placementExplain(
  { conductor }: Cell,
  ask: CellAsk<'placement.explain'>,
): Promise<CellAnswer<'placement.explain'>> {
  const decision = await decideOnFreshHosts(conductor, ask)
  const chosen = decision.selection.hosts[0]?.name ?? null
  const trace = decision.trace({ lostClaims: [], chosen })
  if (ask.count === undefined) return { trace }
  return { trace, fitting: await countFitting(conductor, ask, ask.count) }
}
