import type { InstanceId, SagaId } from '#common/ids.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import type { Instance, PlacedOn } from '../../instance.ts'
import type { BootParams } from './params.ts'

/** The instance while it is being built on a host. */
export function building(
  { operation, projectId, imageProperties }: BootParams,
  placed: PlacedOn,
  version: number,
  sagaId: SagaId,
): Instance {
  return {
    id: operation.serverId as InstanceId,
    attempt: operation.attempt,
    version,
    projectId,
    vmState: 'building',
    taskState: 'spawning',
    powerState: POWER_STATES.nostate,
    placed,
    fault: null,
    flavor: null,
    imageId: null,
    imageProperties: imageProperties ?? null,
    machineNics: null,
    launchedAt: null,
    sagaId,
  }
}
