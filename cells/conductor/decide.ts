import type { Executor } from '#common/db/database.ts'
import type { HostId } from '#common/ids.ts'
import { numaRequest } from '#common/numa.ts'
import { requestedTraits } from '#common/traits.ts'
import type { CellAsk } from '#openapi/wire/cell.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import { hostsOfInstances } from '../db/instances.ts'
import { groupMembersByHost } from '../placement/group.ts'
import { nodeWish } from '../placement/node-wish.ts'
import { resourcesOf } from '../placement/resources.ts'
import type { HostTable } from '../scheduler/host-table.ts'
import type { PlacementRequest } from '../scheduler/placement-request.ts'
import { type Selection, selectHosts } from '../scheduler/select-hosts.ts'
import { hostTrace, type TraceEnd } from '../scheduler/trace.ts'
import { hostsOfVolumes } from '../volumes/build-volumes.ts'
import type { Conductor } from './conductor.ts'
import { logFilterErrors } from './log-filter-errors.ts'

export interface Decision {
  readonly selection: Selection
  /** The decision as it is stored and shown, once its result is known. */
  trace(end: Pick<TraceEnd, 'lostClaims' | 'chosen'>): Trace
}

/** The facts of a decision besides the build and the hosts. */
export interface Circumstances {
  /** Hosts that have failed to build this server. */
  readonly triedHosts: ReadonlySet<string>
  readonly neighbours: Neighbours
}

/** The part of a build that decides where it can be placed. `nics` or `volumes` absent: none are considered. */
export type Placeable = CellAsk<'placement.explain'> &
  Partial<Pick<InstanceBuild, 'nics' | 'volumes'>>

/** Where the servers and volumes are that a build's place depends on. */
export interface Neighbours
  extends Pick<PlacementRequest, 'sameHosts' | 'differentHosts' | 'storeHosts'> {
  /** Servers of its group by host, itself left out; undefined: it is in no group. */
  readonly groupMembers: ReadonlyMap<HostId, number> | undefined
}

/** The servers a build's group and hints speak of, as far as they are in this cell, and its volumes. */
export async function neighboursOf(
  db: Executor,
  { group, sameHost, differentHost = [], volumes }: Placeable,
): Promise<Neighbours> {
  return {
    groupMembers: group === undefined ? undefined : await groupMembersByHost(db, group.id),
    sameHosts: sameHost === undefined ? null : await hostsOfInstances(db, sameHost),
    differentHosts: await hostsOfInstances(db, differentHost),
    storeHosts: volumes === undefined ? null : await hostsOfVolumes(db, volumes),
  }
}

/** Chooses hosts for a build by the hosts' state as this process knows it. Claims nothing. */
export function decide(
  conductor: Conductor,
  build: Placeable,
  circumstances: Circumstances,
): Decision {
  return decideOn(conductor.hosts.table(), conductor, build, circumstances)
}

/** The same by the hosts' state in this table. */
export function decideOn(
  table: HostTable,
  { scheduling, clock, log }: Conductor,
  build: Placeable,
  { triedHosts, neighbours: { groupMembers, ...neighbours } }: Circumstances,
): Decision {
  const at = clock.now()
  const began = performance.now()
  const { image, zone, requestedHost, projectId, flavor, group, needsFirewall = false } = build
  const { nics = [] } = build
  const request = {
    resources: resourcesOf(build),
    image,
    flavorName: flavor.name,
    extraSpecs: flavor.extraSpecs,
    traits: requestedTraits(flavor.extraSpecs, image.properties),
    numa: numaRequest(flavor, image.properties),
    nodes: nodeWish(build),
    hints: build.remarks?.hints ?? {},
    projectId,
    zone,
    requestedHost,
    needsFirewall,
    segments: nics.map(({ segment = null }) => segment),
    triedHosts,
    group: group === undefined ? null : { ...group, members: groupMembers ?? new Map() },
    ...neighbours,
  }
  const selection = selectHosts(table, request, scheduling)
  logFilterErrors(log, selection.errors)
  const tookMs = Math.round((performance.now() - began) * 1e3) / 1e3
  return { selection, trace: (end) => hostTrace(selection, { at, tookMs, ...end }) }
}

/**
 * The same for a new build. Room that was just given back may be unknown here for a second: so it is looked up. `chosen` is
 * called with the best host before any other decision is made.
 */
export async function decideOnFreshHosts(
  conductor: Conductor,
  build: Placeable,
  chosen: (best: HostId) => void = () => {},
): Promise<Decision> {
  const circumstances = {
    triedHosts: new Set<string>(),
    neighbours: await neighboursOf(conductor.db, build),
  }
  const decideNow = () => {
    const decision = decide(conductor, build, circumstances)
    const [best] = decision.selection.hosts
    if (best !== undefined) chosen(best.hostId)
    return decision
  }
  const decision = decideNow()
  if (decision.selection.hosts.length > 0) return decision
  await conductor.hosts.refresh()
  return decideNow()
}
