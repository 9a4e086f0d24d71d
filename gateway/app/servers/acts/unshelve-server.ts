import { Failure } from '#common/errors.ts'
import { hostsNamed } from '../../../db/host-list.ts'
import { findRequestSpec } from '../../../db/request-specs.ts'
import type { Compute } from '../../compute.ts'
import { enforce } from '../../policy.ts'
import type { RequestContext } from '../../request-context.ts'
import { cellsForPlace, placeOf } from '../boot/server-place.ts'
import type { ServerRecord } from '../list/server-record.ts'
import { showServer } from '../list/show-server.ts'
import { actOnServer } from './act-on-server.ts'
import { refuseAction } from './refuse-action.ts'
import { findShelvedImage } from './shelved-image.ts'

/** Where a server is to come back. */
export interface UnshelveRequest {
  /** Null: any, from now on; undefined: as it was. */
  readonly zone: string | null | undefined
  /** Null: any. */
  readonly host: string | null
}

const TO_HOST = 'os_compute_api:os-shelve:unshelve_to_host'

/**
 * Afterwards the server's cell has accepted to bring it back: where it still is, or on any host of the cell from the
 * image it was shelved in. Throws as `actOnServer`; `invalid` for a place that there is not; `conflict` for a place
 * that cannot be chosen now.
 */
export async function unshelveServer(
  compute: Compute,
  context: RequestContext,
  id: string,
  { zone, host }: UnshelveRequest,
): Promise<void> {
  const { db } = compute
  const server = await showServer(db, context, id)
  refuseAction(server, context, 'unshelve')
  if ((zone !== undefined || host !== null) && server.vmState !== 'shelved_offloaded')
    throw new Failure(
      'conflict',
      `Specifying an availability zone or a host when unshelving server "${id}" with status ` +
        '"SHELVED" is not supported. The server status must be SHELVED_OFFLOADED.',
    )
  const availabilityZone = zone ?? null
  const cells = await cellsForPlace(db, compute.cells.cells(), availabilityZone)
  placeOf({ availabilityZone, host: null, hypervisorHostname: null }, cells, () => {})
  const request = await findRequestSpec(db, server.id)
  if (request === undefined) throw new Failure('not-found', `Instance ${id} could not be found.`)
  if (host !== null) {
    enforce(context, TO_HOST)
    const wanted = zone === undefined ? request.spec.zone : zone
    await refuseHost(compute, server, { host, zone: wanted })
  }
  const own = request.spec.image
  const image = (await findShelvedImage(db, server.id, own)) ?? own
  const where = zone === undefined ? { host } : { host, zone }
  const plan = { kind: 'unshelve', flavor: server.flavor, image, ...where } as const
  await actOnServer(compute, context, id, { name: 'unshelve', plan })
}

/** A shelved server comes back in its own cell, which alone has its saved state, and in the zone it is bound to. */
async function refuseHost(
  { db, cells }: Compute,
  { id, cellId }: ServerRecord,
  { host, zone }: { readonly host: string; readonly zone: string | null },
): Promise<void> {
  const named = await hostsNamed(db, host)
  if (named.length === 0) throw new Failure('invalid', `Compute host ${host} could not be found.`)
  const inCell = named.filter((each) => each.cellId === cellId)
  if (inCell.some(({ view }) => zone === null || view.zone === zone)) return
  if (inCell.length > 0)
    throw new Failure(
      'conflict',
      `Host "${host}" is not in the availability zone "${zone}" of instance ${id}. Name a host of that zone, or none.`,
    )
  if (cellId === null) return
  const cell = cells.cell(cellId)?.name ?? cellId
  throw new Failure(
    'invalid',
    `Compute host ${host} is not in cell ${cell}, in which instance ${id} was shelved. Name a host of that cell, or none.`,
  )
}
