import { Failure, isFailure } from '#common/errors.ts'
import { refuseInState } from '#common/states/refuse-in-state.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import type { Cell } from '../cell.ts'
import { type Instance, instanceView } from '../conductor/instance.ts'
import { refuseMove } from '../conductor/refuse-move.ts'
import { beginMove } from './begin-move.ts'

type Asked = Parameters<typeof refuseMove>[1]

/**
 * Afterwards the instance is on its way to another host, or it is on record that none fits. Undefined when it changed
 * meanwhile. Throws `conflict` in a state that forbids it, `invalid` for a refusal that is waited for.
 */
export async function changeHost(
  cell: Cell,
  asked: Asked,
  instance: Instance,
): Promise<InstanceView | undefined> {
  const { operation, move, work } = asked
  refuseInState(instance, move.name)
  if (instance.sagaId !== null)
    throw new Failure('conflict', `Instance ${instance.id} is being changed.`)
  const { migrationId, build, userId, projectId, staysOff = false } = move
  const who = { userId, projectId }
  const order = { migrationId, build, oldFlavorId: build.flavor.id, staysOff, ...who }
  try {
    return await beginMove(cell, { operation, name: move.name, order, work }, instance)
  } catch (error) {
    if (!isFailure(error, 'no-capacity')) throw error
    const refused = await refuseMove(cell.conductor, asked, instance)
    return refused && instanceView(refused)
  }
}
