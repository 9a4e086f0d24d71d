import type { Executor } from '#common/db/database.ts'
import type { HostId } from '#common/ids.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import { groupMembersByHost } from '../placement/group.ts'
import { resourcesOf } from '../placement/resources.ts'
import { type Selection, selectHosts } from '../scheduler/select-hosts.ts'
import { hostTrace, type TraceEnd } from '../scheduler/trace.ts'
import type { Conductor } from './conductor.ts'

export interface Decision {
  readonly selection: Selection
  /** The decision as it is kept and shown, once it is known what came of it. */
  trace(end: Pick<TraceEnd, 'lostClaims' | 'chosen'>): Trace
}

/** What a decision goes by besides the build and the hosts. */
export interface Circumstances {
  /** Hosts that have failed to build this server. */
  readonly triedHosts: ReadonlySet<string>
  /** Servers of its group by host, itself left out; undefined: it is in no group. */
  readonly groupMembers: ReadonlyMap<HostId, number> | undefined
}

/** The servers of a build's group, where it has one. */
export async function membersOf(
  db: Executor,
  { group }: InstanceBuild,
): Promise<Circumstances['groupMembers']> {
  return group === undefined ? undefined : groupMembersByHost(db, group.id)
}

/** Chooses hosts for a build by what is known now. Nothing is claimed. */
export function decide(
  { hosts, scheduling, clock }: Conductor,
  build: InstanceBuild,
  { triedHosts, groupMembers }: Circumstances,
): Decision {
  const at = clock.now()
  const began = performance.now()
  const { image, zone, requestedHost, projectId, flavor, group } = build
  const request = {
    resources: resourcesOf(build),
    image,
    extraSpecs: flavor.extraSpecs,
    projectId,
    zone,
    requestedHost,
    triedHosts,
    group: group === undefined ? null : { ...group, members: groupMembers ?? new Map() },
  }
  const selection = selectHosts(hosts.states(), request, scheduling)
  const tookMs = Math.round((performance.now() - began) * 1e3) / 1e3
  return { selection, trace: (end) => hostTrace(selection, { at, tookMs, ...end }) }
}
