import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { serversOfRecovery, serversToTake } from '../../db/cell-recoveries.ts'
import { findServer } from '../../db/find-server.ts'
import { findRequestSpec } from '../../db/request-specs.ts'
import { keptReplicas } from '../../db/server-replicas.ts'
import type { OperatedCell } from '../cells/operated-cells.ts'
import { refuseAllUnreachable } from '../cells/unheard-cells.ts'
import type { Compute } from '../compute.ts'
import { chooseForServer } from '../sagas/choose-for-server.ts'
import { placeOfGroup } from '../server-groups/members.ts'
import type { BuildSpec } from '../servers/boot/build-spec.ts'
import { whyNoCell } from '../servers/boot/faults.ts'
import { imagesFor, type Recoverable } from './recovery-images.ts'
import type { LostServer, RecoverySource } from './recovery-plan.ts'

/** Each is looked at by itself. */
const SERVERS_MAX = 1_000

/** What a recovery would do about a server now. */
export interface ForecastServer extends Recoverable {
  /** The name of the cell that would take it; null: none would, and the reason says why. */
  readonly cell: string | null
  /** The name of the cell that keeps its image, and is preferred; null: none does. */
  readonly replicaCell: string | null
}

export interface RecoveryForecast {
  /** The cell was not declared lost, and has its servers: it is said what would happen if it were. */
  readonly assumesLoss: boolean
  /** At most a thousand. */
  readonly servers: readonly ForecastServer[]
}

/**
 * What a recovery of the cell would do now; changes nothing. Each server is looked at as if it were the only one, so that
 * the last ones may find no room where this says that they would.
 */
export async function forecastRecovery(
  compute: Compute,
  { id: cellId, loss }: OperatedCell,
  source: RecoverySource,
): Promise<RecoveryForecast> {
  const { db } = compute
  const taken = await serversOfRecovery(db, cellId, null, SERVERS_MAX)
  const assumesLoss = loss === null && taken.length === 0
  const isLeft = assumesLoss || loss !== null
  const left = isLeft ? await serversToTake(db, cellId, SERVERS_MAX - taken.length) : []
  const servers = [...taken, ...left]
  const ids = servers.map(({ id }) => id)
  const kept = await keptReplicas(db, ids)
  const forecast: ForecastServer[] = []
  for await (const each of imagesFor(db, servers, source)) {
    const replica = kept.get(each.server.id)
    const isIt = replica !== undefined && replica.imageId === each.image?.id
    const chosen = await cellFor(compute, each, isLeft ? cellId : null)
    forecast.push({ ...each, ...chosen, replicaCell: isIt ? replica.cell : null })
  }
  return { assumesLoss, servers: forecast }
}

type Chosen = Pick<ForecastServer, 'cell' | 'reason'>

/** The cell that the filters and policies choose now, `lostCellId` left out; null: that cell may take its servers again. */
async function cellFor(
  compute: Compute,
  { server, image, source, reason }: Recoverable,
  lostCellId: string | null,
): Promise<Chosen> {
  if (image === null) return { cell: null, reason }
  const saved = source === 'snapshot' ? { savedDisk: { image, home: null } } : {}
  try {
    return await chosenCell(compute, server, saved, lostCellId)
  } catch (error) {
    if (!isFailure(error)) throw error
    return { cell: null, reason: error.message }
  }
}

/** As a build of the server would choose, with what it has by now. */
async function chosenCell(
  compute: Compute,
  { id, projectId }: LostServer,
  saved: Pick<BuildSpec, 'savedDisk'>,
  lostCellId: string | null,
): Promise<Chosen> {
  const serverId = id as InstanceId
  return compute.db.transaction(async (tx) => {
    const request = await findRequestSpec(tx, serverId)
    const server = await findServer(tx, serverId)
    if (request === undefined || server === undefined)
      throw new Failure('conflict', 'It is being deleted.')
    const { volumes: _released, savedDisk: _before, ...rest } = request.spec
    const spec = { ...rest, flavor: server.flavor, requestedHost: null, ...saved }
    const place = await placeOfGroup(tx, spec.group)
    // A group that is held to the lost cell is let go of with the servers.
    const group = place !== null && place.cellId === lostCellId ? null : place
    const cells = compute.cells.cells().filter((cell) => cell.id !== lostCellId)
    refuseAllUnreachable(cells)
    const placing = { serverId, projectId, spec, cells, tried: [], group }
    const { chosen, trace } = await chooseForServer(tx, compute, placing)
    if (chosen === undefined) return { cell: null, reason: whyNoCell(trace) }
    return { cell: chosen.name, reason: null }
  })
}
