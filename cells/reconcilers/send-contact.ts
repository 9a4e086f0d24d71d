import { workContext } from '#common/context.ts'
import type { HostId } from '#common/ids.ts'
import type { Reconciler } from '#common/reconciler.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'
import type { Host } from '../hosts/host.ts'
import type { HostRegistry } from '../hosts/host-registry.ts'

const EVERY_MS = 1_000
/** A process that has not read the hosts for so long does not know which of them have been left alone. */
const READ_MAX_MS = 5_000

interface KnownHosts extends Pick<HostRegistry, 'readAgeMs' | 'isUp'> {
  all(): readonly Host[]
}

/**
 * The hosts that this process hears and may tell of contact. `leavesAlone`: the cell leaves hosts alone, so a process that
 * does not know which tells none.
 */
export function hostsInTouch(hosts: KnownHosts, leavesAlone: boolean): readonly Host[] {
  if (leavesAlone && hosts.readAgeMs > READ_MAX_MS) return []
  return hosts.all().filter((host) => hosts.isUp(host) && !host.isLeftAlone)
}

/** Every host knows when a gateway was last in touch, if its guests are to stop where none is. `leavesAlone` as above. */
export function sendContact({ conductor }: Cell, leavesAlone: boolean): Reconciler {
  const { hosts, gateways, fenceAfterMs } = conductor
  /** Hosts keep the last contact they received: where guests need not stop, once is enough. */
  const released = new Set<HostId>()
  return {
    name: 'send-contact',
    everyMs: EVERY_MS,
    round: async () => {
      const ageMs = gateways.takeAge()
      if (ageMs === undefined) return { sent: 0 }
      const due = hostsInTouch(hosts, leavesAlone).filter(({ id }) => !released.has(id))
      const asked = { fenceAfterMs, ageMs }
      const answers = await Promise.allSettled(
        due.map(async ({ id }) => {
          await askHost(conductor, id, 'contact', asked, workContext({}))
          if (fenceAfterMs === 0) released.add(id)
        }),
      )
      return { sent: answers.filter(({ status }) => status === 'fulfilled').length }
    },
  }
}
