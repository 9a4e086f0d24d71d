import type { InstanceBuild } from '#openapi/wire/instance.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import { resourcesOf } from '../placement/resources.ts'
import { type Selection, selectHosts } from '../scheduler/select-hosts.ts'
import { hostTrace, type TraceEnd } from '../scheduler/trace.ts'
import type { Conductor } from './conductor.ts'

export interface Decision {
  readonly selection: Selection
  /** The decision as it is kept and shown, once it is known what came of it. */
  trace(end: Pick<TraceEnd, 'lostClaims' | 'chosen'>): Trace
}

/** Chooses hosts for a build by what is known now. Nothing is claimed. */
export function decide(
  { hosts, scheduling, clock }: Conductor,
  build: InstanceBuild,
  triedHosts: ReadonlySet<string>,
): Decision {
  const at = clock.now()
  const began = performance.now()
  const { image, zone, requestedHost, projectId, flavor } = build
  const { extraSpecs } = flavor
  const resources = resourcesOf(build)
  const request = { resources, image, extraSpecs, projectId, zone, requestedHost, triedHosts }
  const selection = selectHosts(hosts.states(), request, scheduling)
  const tookMs = Math.round((performance.now() - began) * 1e3) / 1e3
  return { selection, trace: (end) => hostTrace(selection, { at, tookMs, ...end }) }
}
