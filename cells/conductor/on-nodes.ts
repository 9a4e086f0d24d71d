import type { Executor } from '#common/db/database.ts'
import type { HostAct } from '#openapi/wire/act.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import { allocationHeld } from '../placement/choose-nodes.ts'
import { nodeWish } from '../placement/node-wish.ts'
import { heldBy, heldIn } from '../placement/release.ts'
import { amountsOf } from '../placement/resources.ts'
import type { PlacedOn } from './instance.ts'

/** The build as that host gets it, with the NUMA nodes that were claimed for it there. */
export function buildOnNodes(
  build: InstanceBuild,
  placed: Pick<PlacedOn, 'numa'> | null,
): InstanceBuild {
  return placed?.numa === undefined ? build : { ...build, hostNodes: [...placed.numa.vcpus] }
}

/** The same for an act that tells how the guest is built. */
export function actOnNodes<A extends HostAct>(act: A, placed: Pick<PlacedOn, 'numa'> | null): A {
  return 'build' in act ? { ...act, build: buildOnNodes(act.build, placed) } : act
}

/** The host, with what the consumer, which may be a migration, holds of it and of its NUMA nodes for a server that is built so. */
export async function placedAsHeld(
  db: Executor,
  { numa: _other, held: _others, ...placed }: PlacedOn,
  consumer: string,
  build: InstanceBuild,
): Promise<PlacedOn> {
  const rows = (await heldBy(db, consumer)).filter((row) => row.provider_id === placed.hostId)
  const numa = allocationHeld(nodeWish(build), rows)
  return { ...placed, ...(numa && { numa }), held: amountsOf(heldIn(rows)) }
}
