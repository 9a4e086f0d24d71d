import type { ActNamed } from '#openapi/wire/act.ts'
import type { ActEffects } from './act-effects.ts'
import { checkOwnHost } from './own-host.ts'

/** What the server holds of its host stays as it is. */
export const rebuildEffects: ActEffects<ActNamed<'rebuild'>> = {
  begin: async (_tx, { deps, instance, act }) => {
    checkOwnHost(deps, instance, act)
    return {}
  },
  done: async (_tx, { instance, act, at }) => ({
    vmState: instance.vmState === 'stopped' ? 'stopped' : 'active',
    imageId: act.build.image.id,
    launchedAt: at,
    fault: null,
  }),
  // It is unknown which disk the guest has now; it may be rebuilt again.
  failed: async () => ({ vmState: 'error' }),
}
