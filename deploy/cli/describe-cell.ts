import type { Layout } from '../deployment/layout.ts'
import { endpointOf } from '../up/exposed.ts'
import type { UpResult } from '../up/up.ts'

/** The last lines printed when a cell of a deployment elsewhere has been started. */
export function describeCell(layout: Layout, { state, what }: UpResult): readonly string[] {
  const [cell] = state.cells
  const { length } = cell?.hosts ?? []
  const headline = {
    already: `Cell ${cell?.name} is up already; nothing was changed.`,
    created: `Cell ${cell?.name} has joined.`,
    started: `Cell ${cell?.name} is up again.`,
  }[what]
  return [
    '',
    headline,
    '',
    `  Gateway      ${endpointOf(state)}`,
    `  Driver       ${state.driver.name}: ${state.driver.why}`,
    ...(state.driver.guests === undefined ? [] : [`  Guests       ${state.driver.guests}`]),
    `  Hosts        ${length}`,
    `  Kept in      ${layout.home}`,
    '',
    '  ./weir status and ./weir logs show it, ./weir down stops it, ./weir up starts it again.',
    '',
  ]
}
