import type { WorkContext } from '#common/context.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { isFailure } from '#common/errors.ts'
import { newId, type SagaId } from '#common/ids.ts'
import type { InstanceView, OperationRef } from '#openapi/wire/instance.ts'
import type { Cell } from '../cell.ts'
import { type Instance, instanceView } from '../conductor/instance.ts'
import type { MoveName, MoveOrder } from '../conductor/moves/move.ts'
import { MOVE_STEPS_MAX } from '../conductor/moves/plans.ts'
import { type MoveParams, moveSaga, moving, sealedOrder } from '../conductor/sagas/move.ts'

export interface MoveRequest {
  readonly operation: OperationRef
  readonly name: MoveName
  readonly order: MoveOrder
  readonly work: WorkContext
}

/**
 * Afterwards the instance is on its way to another host. Undefined when it changed meanwhile. Throws `no-capacity`
 * when no other host fits.
 */
export async function beginMove(
  cell: Cell,
  asked: MoveRequest,
  instance: Instance,
): Promise<InstanceView | undefined> {
  try {
    return await start(cell, asked, instance)
  } catch (error) {
    if (!isFailure(error, 'no-capacity')) throw error
    // Room that was just given back may be unknown here for a second.
    await cell.conductor.hosts.refresh()
    return start(cell, asked, instance)
  }
}

async function start(
  { conductor, sagas }: Cell,
  { operation, name, order, work }: MoveRequest,
  instance: Instance,
): Promise<InstanceView | undefined> {
  const { secrets, clock } = conductor
  const id = newId<SagaId>()
  const params: MoveParams = {
    operation,
    name,
    sealed: sealedOrder(secrets, operation, order),
    instance,
    startedAt: clock.now(),
    operationIds: Array.from({ length: MOVE_STEPS_MAX }, () => newId<string>()),
  }
  try {
    await sagas.start(moveSaga, { id, subject: operation.serverId, params, work })
    return instanceView(moving(params, id))
  } catch (error) {
    if (isDuplicate(error) || isFailure(error, 'conflict')) return undefined
    throw error
  }
}
