import type { WorkContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import type { CellAsk } from '#openapi/wire/cell.ts'
import type { CellRef } from '../../cell-client/client.ts'
import type { ComputeDeps } from '../compute.ts'
import type { BuildSpec } from '../servers/boot/build-spec.ts'

/**
 * The name of a host that can take the server now, so that its new volumes are made in a store which that host reaches;
 * undefined where the cell has none, or does not say. Servers of one request get different ones, because none is claimed.
 */
export async function hostForVolumes(
  { askCell, log }: Pick<ComputeDeps, 'askCell' | 'log'>,
  cell: CellRef,
  { spec, newVolumes }: { readonly spec: BuildSpec; readonly newVolumes: ReadonlySet<string> },
  work: WorkContext,
): Promise<string | undefined> {
  try {
    const question = placementQuestion(spec, newVolumes)
    const { trace } = await askCell(cell, 'placement.explain', question, { work })
    const hosts = trace.scores.map(({ candidate }) => candidate)
    return hosts[spec.launchIndex % Math.max(hosts.length, 1)]
  } catch (error) {
    if (!isFailure(error)) throw error
    log.info({ cell: cell.name, ...errorFields(error) }, 'cell cannot say where volumes belong')
    return undefined
  }
}

/** What a cell is asked to say on which host it would build the server. `newVolumes`: those without a place yet. */
export function placementQuestion(
  { flavor, image, volumes = [], remarks, ...spec }: BuildSpec,
  newVolumes: ReadonlySet<string>,
): CellAsk<'placement.explain'> {
  const existing = volumes.filter(({ volumeId }) => !newVolumes.has(volumeId))
  const isInStore = volumes.some(({ isRoot }) => isRoot === true)
  return {
    projectId: spec.projectId,
    flavor: isInStore ? { ...flavor, rootGb: 0 } : flavor,
    image: {
      id: image.id,
      diskFormat: image.diskFormat,
      minDiskGb: image.minDiskGb,
      properties: image.properties,
    },
    zone: spec.zone,
    requestedHost: spec.requestedHost,
    ...(spec.group && { group: spec.group }),
    ...(spec.sameHost && { sameHost: spec.sameHost }),
    ...(spec.differentHost && { differentHost: spec.differentHost }),
    ...(spec.needsFirewall && { needsFirewall: true }),
    ...(remarks && { remarks: { hints: remarks.hints } }),
    ...(existing.length > 0 && { volumes: existing }),
  }
}
