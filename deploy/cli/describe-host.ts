import type { Layout } from '../deployment/layout.ts'
import { endpointOf } from '../up/exposed.ts'
import type { UpResult } from '../up/up.ts'

/** The last lines printed when a host of a cell elsewhere has been started. */
export function describeHost(layout: Layout, { state, what }: UpResult): readonly string[] {
  const { host, driver } = state
  const whole = `Host ${host?.name} of cell ${host?.cell.name}`
  const headline = {
    already: `${whole} is up already; nothing was changed.`,
    created: `${whole} has joined.`,
    started: `${whole} is up again.`,
  }[what]
  return [
    '',
    headline,
    '',
    `  Gateway      ${endpointOf(state)}`,
    `  Driver       ${driver.name}: ${driver.why}`,
    ...(driver.guests === undefined ? [] : [`  Guests       ${driver.guests}`]),
    `  Kept in      ${layout.home}`,
    '',
    '  ./weir status and ./weir logs show it, ./weir down stops it, ./weir up starts it again.',
    '',
  ]
}
