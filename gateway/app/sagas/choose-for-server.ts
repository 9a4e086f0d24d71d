import type { Tx } from '#common/db/database.ts'
import type { CellId, InstanceId } from '#common/ids.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { queueProjectLock } from '../../db/quota-usages.ts'
import { replicaCellOf } from '../../db/server-replicas.ts'
import { type CellRequirements, cellRequest, groupApart } from '../cells/cell-request.ts'
import { cellsAsIndexed } from '../cells/cells-as-indexed.ts'
import { type CellChoice, choiceSources, chooseCell } from '../cells/choose-cell.ts'
import { lockSpanningNetworks } from '../cells/tunnels.ts'
import { refuseUnheard } from '../cells/unheard-cells.ts'
import type { ComputeDeps } from '../compute.ts'
import { appliedPolicy } from '../placement-policies/applied-policy.ts'
import type { BuildSpec } from '../servers/boot/build-spec.ts'

/** A server that was accepted before, and what is left of the cells for it. */
export interface Placing {
  readonly serverId: InstanceId
  readonly projectId: string
  readonly spec: BuildSpec
  /** Among which to choose. */
  readonly cells: readonly Cell[]
  readonly tried: readonly CellId[]
  /** What its group requires; null: nothing. */
  readonly group: CellRequirements['group']
}

/**
 * Chooses a cell for the server, by its request, its policy and the summaries of the cells, or by the index of hosts where
 * these leave none. Until the transaction ends no other choice can spoil this one.
 * Throws `unavailable` where none will do, and this gateway has begun so lately that it has not heard all of them yet.
 */
export async function chooseForServer(
  tx: Tx,
  deps: ComputeDeps,
  { serverId, projectId, spec, cells, tried, group }: Placing,
): Promise<CellChoice> {
  const { flavor, zone, requestedHost, sameHost, policyHint: hint } = spec
  const image = spec.savedDisk?.image ?? spec.image
  const { hints = {} } = spec.remarks ?? {}
  const of = { projectId, flavorId: flavor.id, hint }
  const policy = appliedPolicy(deps.placementPolicies.all(), of)
  const networks = await deps.network.networksOf(tx, serverId)
  const where = { flavor, image, zone, requestedHost, networks, serverId }
  const replicaCellId = await replicaCellOf(tx, serverId)
  const apart = groupApart(spec.group)
  const required = {
    ...{ ...where, group, apart, sameHost, cellHints: spec, hints, policy, replicaCellId },
  }
  if (policy?.rules.spread?.isRequired || policy?.rules.limits) queueProjectLock(tx, projectId)
  await lockSpanningNetworks(tx, cells, networks)
  const among = async (all: readonly Cell[]) =>
    chooseCell(all, await cellRequest(tx, required, all, tried), choiceSources(deps))
  const bySummaries = await among(cells)
  const isDecided = bySummaries.chosen !== undefined || cells.length === 0
  const choice = isDecided ? bySummaries : await among(await cellsAsIndexed(tx, cells))
  if (choice.chosen === undefined) refuseUnheard(deps.cells, cells)
  return choice
}
