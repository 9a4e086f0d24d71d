import type { Reconciler } from '#common/reconciler.ts'
import type { HostChangeDeps } from '../hosts/change-in-cell.ts'
import { pushProviders } from '../placement/push-providers.ts'

const EVERY_MS = 10_000

/** Every cell knows what administrators decided about its hosts as resource providers, also one that was away then. */
export function syncProviders(deps: HostChangeDeps): Reconciler {
  return {
    name: 'sync providers',
    everyMs: EVERY_MS,
    round: async () => ({ pushed: await pushProviders(deps) }),
  }
}
