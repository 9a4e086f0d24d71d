import { workContext } from '#common/context.ts'
import type { Reconciler } from '#common/reconciler.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'

const EVERY_MS = 1_000

/** Every host knows when a gateway was last in touch, if its guests are to stop where none is. */
export function tellContact({ conductor }: Cell): Reconciler {
  const { hosts, gateways, fenceAfterMs } = conductor
  let isTold = false
  return {
    name: 'tell-contact',
    everyMs: EVERY_MS,
    round: async () => {
      const ageMs = gateways.takeAge()
      // Hosts that were told to stop their guests once must be told that they need not any more.
      if (ageMs === undefined || (fenceAfterMs === 0 && isTold)) return { told: 0 }
      const up = hosts.all().filter((host) => hosts.isUp(host))
      const asked = { fenceAfterMs, ageMs }
      const told = await Promise.allSettled(
        up.map(({ id }) => askHost(conductor, id, 'contact', asked, workContext({}))),
      )
      isTold = up.length > 0 && told.every(({ status }) => status === 'fulfilled')
      return { told: told.length }
    },
  }
}
