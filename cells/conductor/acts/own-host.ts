import { Failure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import { selectHosts } from '../../scheduler/select-hosts.ts'
import { noHostReason } from '../../scheduler/trace.ts'
import type { Conductor } from '../conductor.ts'
import type { Instance } from '../instance.ts'

/** What the server takes is claimed apart from the filters, or held already. */
const NOTHING = { vcpus: 0, memoryMb: 0, diskGb: 0 }

/**
 * Holds what a server is about to become against the filters of the host it is on, as at a boot: its image
 * (OSSA-2017-005) and its flavor. Throws `no-capacity`, with the reason, where the host refuses it.
 */
export function checkOwnHost(
  deps: Pick<Conductor, 'hosts' | 'scheduling'>,
  { projectId, placed }: Instance,
  { image, flavor }: InstanceBuild,
): void {
  const request = {
    resources: NOTHING,
    image,
    extraSpecs: flavor.extraSpecs,
    projectId,
    // It stays where its group has allowed it to be.
    group: null,
    // Its ports are as they were.
    needsFirewall: false,
    besideHosts: null,
    apartHosts: new Set<HostId>(),
    zone: null,
    requestedHost: placed?.host ?? null,
    triedHosts: new Set<string>(),
  }
  const selection = selectHosts(deps.hosts.states(), request, deps.scheduling)
  if (selection.hosts.length === 0) throw new Failure('no-capacity', noHostReason(selection))
}
