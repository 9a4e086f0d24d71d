import type { Tx } from '#common/db/database.ts'
import type { InstanceId, SagaId } from '#common/ids.ts'
import type { Fault } from '#openapi/wire/instance.ts'
import { lockMapping, reassignMapping } from '../../db/instance-mappings.ts'
import { queuePasswordErasure } from '../../db/request-specs.ts'
import { queueIndexReassignment } from '../../db/server-index.ts'
import type { ComputeDeps } from '../compute.ts'
import { interruptedBuild } from '../servers/boot/faults.ts'

/**
 * For a server of which no cell has anything left: it shows ERROR, in no cell, and can be deleted or rebuilt. Does
 * nothing where another saga owns the server.
 */
export async function giveUpBuild(
  tx: Tx,
  deps: ComputeDeps,
  serverId: InstanceId,
  sagaId: SagaId,
  fault: Fault = interruptedBuild(deps.clock.now()),
): Promise<void> {
  const mapping = await lockMapping(tx, serverId)
  if (mapping === undefined || mapping.sagaId !== sagaId) return
  const { attempt, triedCells } = mapping
  const nowhere = { serverId, attempt, sagaId, cellId: null, triedCells, nextSagaId: null }
  if (!(await reassignMapping(tx, nowhere))) return
  queueIndexReassignment(tx, {
    serverId,
    cellId: null,
    attempt: attempt + 1,
    vmState: 'error',
    taskState: null,
    fault,
  })
  queuePasswordErasure(tx, null, [{ serverId, attempt: attempt + 1 }])
}
