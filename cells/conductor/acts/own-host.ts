import { isDeepStrictEqual } from 'node:util'
import { Failure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import { numaRequest } from '#common/numa.ts'
import { requestedTraits } from '#common/traits.ts'
import type { ActNamed } from '#openapi/wire/act.ts'
import { nodeWish } from '../../placement/node-wish.ts'
import { HostTable } from '../../scheduler/host-table.ts'
import { selectHosts } from '../../scheduler/select-hosts.ts'
import { noHostReason } from '../../scheduler/trace.ts'
import type { Conductor } from '../conductor.ts'
import type { Instance } from '../instance.ts'

/** The resources of the server are claimed apart from the filters, or are held already. */
const NOTHING = { vcpus: 0, memoryMb: 0, diskGb: 0 }

/**
 * Holds what a server is about to become against the filters of the host it is on: at a resize all of them, as at a boot, and
 * at a rebuild those of its image (OSSA-2017-005), whether the host is up or not. Throws `no-capacity`, with the reason,
 * where the host refuses it.
 */
export function checkOwnHost(
  deps: Pick<Conductor, 'hosts' | 'scheduling'>,
  { projectId, placed }: Instance,
  { name, build: { image, flavor } }: ActNamed<'rebuild' | 'resize'>,
): void {
  const { filters } = deps.scheduling
  const asked = filters.filter(({ runsOnRebuild }) => name === 'resize' || runsOnRebuild)
  const own = deps.hosts
    .states()
    .filter((host) => host.name === placed?.host)
    // The server is there already: it is not one more.
    .map((host) => ({ ...host, instances: host.instances - 1 }))
  const request = {
    resources: NOTHING,
    image,
    flavorName: flavor.name,
    extraSpecs: flavor.extraSpecs,
    traits: requestedTraits(flavor.extraSpecs, image.properties),
    numa: numaRequest(flavor, image.properties),
    nodes: null,
    // Those of the boot were about the host that it has.
    hints: {},
    projectId,
    // It stays where its group has allowed it to be.
    group: null,
    // Its ports are as they were.
    needsFirewall: false,
    segments: [],
    sameHosts: null,
    differentHosts: new Set<HostId>(),
    // Its volumes are there.
    storeHosts: null,
    zone: null,
    requestedHost: placed?.host ?? null,
    triedHosts: new Set<string>(),
  }
  const selection = selectHosts(new HostTable(own), request, { ...deps.scheduling, filters: asked })
  if (selection.hosts.length === 0) throw new Failure('no-capacity', noHostReason(selection))
}

/**
 * Throws `invalid`, in Nova's words (`ImageNUMATopologyRebuildConflict`), where the server's host counts what its NUMA nodes
 * have, and the new image asks for other nodes than the server holds: a rebuild claims nothing.
 */
export function refuseOtherNodes(
  { hosts }: Pick<Conductor, 'hosts'>,
  { placed, imageProperties }: Instance,
  { build: { image, flavor } }: ActNamed<'rebuild'>,
): void {
  if (placed === null || imageProperties === null) return
  if (hosts.countedNodes(placed.hostId).length === 0) return
  const wishOf = (properties: typeof imageProperties) =>
    nodeWish({ flavor, image: { ...image, properties } })
  if (isDeepStrictEqual(wishOf(imageProperties), wishOf(image.properties))) return
  throw new Failure(
    'invalid',
    "An instance's NUMA topology cannot be changed as part of a rebuild. The image provided is invalid for this instance.",
  )
}

/** Whether the host that the server is on is known to be down; a disabled one is not. */
export function isHostDown(
  { hosts }: Pick<Conductor, 'hosts'>,
  { placed }: Pick<Instance, 'placed'>,
): boolean {
  const host = placed === null ? undefined : hosts.get(placed.hostId)
  return host !== undefined && !hosts.isUp(host)
}

/** Throws `conflict`, in Nova's words, where the server's host is down (nova/compute/api.py: `check_instance_host`). */
export function refuseHostDown(deps: Pick<Conductor, 'hosts'>, instance: Instance): void {
  if (isHostDown(deps, instance))
    throw new Failure('conflict', 'Service is unavailable at this time.')
}
