import { Failure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import type { ActNamed } from '#openapi/wire/act.ts'
import { selectHosts } from '../../scheduler/select-hosts.ts'
import { noHostReason } from '../../scheduler/trace.ts'
import type { ActEffects } from './act-effects.ts'

/** A rebuild takes no more of its host than the server has there already. */
const NOTHING = { vcpus: 0, memoryMb: 0, diskGb: 0 }

/** The image is held against the host's filters as at a boot (OSSA-2017-005); what the server holds stays as it is. */
export const rebuildEffects: ActEffects<ActNamed<'rebuild'>> = {
  begin: async (_tx, { deps, instance, act }) => {
    const request = {
      resources: NOTHING,
      image: act.build.image,
      extraSpecs: act.build.flavor.extraSpecs,
      projectId: instance.projectId,
      // It stays where its group has allowed it to be.
      group: null,
      // Its ports are as they were.
      needsFirewall: false,
      besideHosts: null,
      apartHosts: new Set<HostId>(),
      zone: null,
      requestedHost: instance.placed?.host ?? null,
      triedHosts: new Set<string>(),
    }
    const selection = selectHosts(deps.hosts.states(), request, deps.scheduling)
    if (selection.hosts.length === 0) throw new Failure('no-capacity', noHostReason(selection))
    return {}
  },
  done: async (_tx, { instance, act, at }) => ({
    vmState: instance.vmState === 'stopped' ? 'stopped' : 'active',
    imageId: act.build.image.id,
    launchedAt: at,
    fault: null,
  }),
  // Nobody knows which disk the guest has now; it may be rebuilt again.
  failed: async () => ({ vmState: 'error' }),
}
