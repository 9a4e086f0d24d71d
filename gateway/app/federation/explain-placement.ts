import type { CellAsk } from '#openapi/wire/cell.ts'
import type { Cell } from '../../cell-client/cell.ts'
import type { Network } from '../../db/network.ts'
import { findNetworks } from '../../db/networks.ts'
import { type CellRequirements, cellRequest, groupApart } from '../cells/cell-request.ts'
import { cellsAsIndexed } from '../cells/cells-as-indexed.ts'
import { choiceSources, chooseCell } from '../cells/choose-cell.ts'
import { flavorForBoot } from '../flavors/flavors.ts'
import { imageForBoot } from '../images/image-for-boot.ts'
import { appliedPolicy, policyHint } from '../placement-policies/applied-policy.ts'
import { enforce } from '../policy.ts'
import type { RequestContext } from '../request-context.ts'
import { CELLS_TRIED_MAX } from '../sagas/next-cell.ts'
import { groupForBoot, ruleOf } from '../server-groups/members.ts'
import type { Boot } from '../servers/boot/boot.ts'
import { cellHints, neighbourHints, refuseUnheededHints } from '../servers/boot/hints.ts'
import { refuseImageAgainstFlavor } from '../servers/boot/refuse-image-against-flavor.ts'
import { cellsForPlace, placeOf } from '../servers/boot/server-place.ts'
import { passedHints } from '../servers/edit/server-remarks.ts'
import { idOf } from './named.ts'
import type { Decision } from './trace.ts'

/** The properties of a server that decide where it is placed. */
export interface PlacementQuestion {
  /** Id or name, as of the image and the networks. */
  readonly flavor: string
  readonly image: string
  readonly zone: string | null
  readonly host: string | null
  /** Id or name of the project whose server it would be; undefined: that of the token. */
  readonly project: string | undefined
  /** Undefined: whichever. */
  readonly networks: readonly string[] | undefined
  readonly hints: Readonly<Record<string, unknown>>
}

export interface Explanation {
  /** Undefined, and the host null, where no host would take it. */
  readonly cell: Cell | undefined
  readonly host: string | null
  readonly decisions: readonly Decision[]
}

/**
 * Asks the cells that a boot would ask, one after the other, and writes nothing. Throws `invalid` and `conflict` for
 * names that a boot would refuse too, and `unavailable` when a cell does not answer.
 */
export async function explainPlacement(
  boot: Boot,
  context: RequestContext,
  question: PlacementQuestion,
): Promise<Explanation> {
  const { db, cells, askCell } = boot.compute
  const { required, ask } = await planned(boot, context, question)
  const decisions: Decision[] = []
  const tried: string[] = []
  while (tried.length < CELLS_TRIED_MAX) {
    const attempt = tried.length + 1
    const reachable = await cellsAsIndexed(db, cells.cells())
    const request = await cellRequest(db, required, reachable, tried)
    const { chosen, trace } = chooseCell(reachable, request, choiceSources(boot.compute))
    decisions.push({ attempt, trace })
    if (chosen === undefined) break
    const answer = await askCell(chosen, 'placement.explain', ask, { work: context })
    decisions.push({ attempt, trace: answer.trace })
    const host = answer.trace.chosen
    if (host !== null) return { cell: chosen, host, decisions }
    tried.push(chosen.id)
  }
  return { cell: undefined, host: null, decisions }
}

interface Planned {
  readonly required: CellRequirements
  readonly ask: CellAsk<'placement.explain'>
}

async function planned(
  { compute, images }: Boot,
  context: RequestContext,
  { zone, host, networks, hints, ...question }: PlacementQuestion,
): Promise<Planned> {
  const { db } = compute
  const asked = { availabilityZone: zone, host, hypervisorHostname: null }
  const cells = await cellsForPlace(db, compute.cells.cells(), zone)
  const place = placeOf(asked, cells, (rule) => enforce(context, rule))
  refuseUnheededHints(hints, cells)
  const flavor = await flavorForBoot(db, context, await idOf(db, 'flavor', question.flavor))
  const imageId = await idOf(db, 'image', question.image)
  const { diskFormat, minDiskGb, properties } = await imageForBoot(images, context, imageId, flavor)
  const image = { id: imageId, diskFormat, minDiskGb, properties }
  refuseImageAgainstFlavor(image, flavor)
  const group = await groupForBoot(db, context, hints['group'])
  const neighbours = await neighbourHints(db, context, hints)
  const policies = compute.placementPolicies.all()
  const { project } = question
  const projectId =
    project === undefined || context.isExternal
      ? (project ?? context.projectId ?? '')
      : await idOf(db, 'project', project)
  const hint = policyHint(policies, hints)
  const where = { flavor, image, zone: place.zone, requestedHost: place.host }
  const on = await namedNetworks(compute.db, networks ?? [])
  return {
    required: {
      ...where,
      networks: on,
      group,
      apart: groupApart(group === null ? undefined : ruleOf(group)),
      sameHost: neighbours.sameHost,
      hints,
      policy: appliedPolicy(policies, { projectId, flavorId: flavor.id, hint }),
      cellHints: cellHints(hints, (rule) => enforce(context, rule)),
    },
    ask: {
      ...where,
      projectId,
      ...(group !== null && { group: ruleOf(group) }),
      ...neighbours,
      remarks: { hints: passedHints(hints) },
    },
  }
}

async function namedNetworks(
  db: Boot['compute']['db'],
  names: readonly string[],
): Promise<readonly Network[]> {
  return findNetworks(db, await Promise.all(names.map((name) => idOf(db, 'network', name))))
}
