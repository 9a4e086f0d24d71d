import { Failure, isFailure } from '#common/errors.ts'
import { refuseInState } from '#common/states/refuse-in-state.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import type { Cell } from '../cell.ts'
import { isHostDown, refuseHostDown } from '../conductor/acts/own-host.ts'
import { type Instance, instanceView } from '../conductor/instance.ts'
import { type RefusedMove, refuseMove } from '../conductor/refuse-move.ts'
import { withStores } from '../volumes/build-volumes.ts'
import { beginMove } from './begin-move.ts'

/**
 * Afterwards the instance is on its way to another host, or it is on record that none fits. Undefined when it changed
 * meanwhile. Throws `conflict` in a state that forbids it and where a cold migration's host is down, `invalid` for a refusal that is
 * waited for.
 */
export async function changeHost(
  cell: Cell,
  asked: RefusedMove,
  instance: Instance,
): Promise<InstanceView | undefined> {
  const { operation, move, work } = asked
  refuseInState(instance, move.name)
  if (instance.sagaId !== null)
    throw new Failure('conflict', `Instance ${instance.id} is being changed.`)
  if (move.name === 'migrate') refuseHostDown(cell.conductor, instance)
  // Nova's conductor looks for the guest's own host as well, and its record says so.
  if (move.name === 'live-migrate' && isHostDown(cell.conductor, instance)) {
    const reason = `Compute service of ${instance.placed?.host} is unavailable at this time.`
    return viewOf(await refuseMove(cell.conductor, { ...asked, reason }, instance))
  }
  const { migrationId, userId, projectId, staysOff = false } = move
  const build = await withStores(cell.conductor.db, move.build)
  const who = { userId, projectId }
  const order = { migrationId, build, oldFlavorId: build.flavor.id, staysOff, ...who }
  try {
    return await beginMove(cell, { operation, name: move.name, order, work }, instance)
  } catch (error) {
    if (!isFailure(error, 'no-capacity')) throw error
    return viewOf(await refuseMove(cell.conductor, asked, instance))
  }
}

function viewOf(refused: Instance | undefined): InstanceView | undefined {
  return refused && instanceView(refused)
}
