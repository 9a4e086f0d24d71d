import type { HostId, InstanceId, SagaId } from '#common/ids.ts'
import type { Task, VmState } from '#common/states/instance-states.ts'
import type { Fault, FlavorSnapshot, MachineNic } from '#openapi/wire/instance.ts'
import type { HeldAmounts, NumaAllocation } from '#openapi/wire/numa.ts'
import type { Instance } from '../conductor/instance.ts'
import { instances } from './schema/instances.ts'

/** The columns that make an instance. */
export const INSTANCE_COLUMNS = {
  server_id: instances.serverId,
  attempt: instances.attempt,
  version: instances.version,
  project_id: instances.projectId,
  vm_state: instances.vmState,
  task_state: instances.taskState,
  power_state: instances.powerState,
  host_id: instances.hostId,
  host: instances.host,
  hypervisor_hostname: instances.hypervisorHostname,
  zone: instances.zone,
  flavor: instances.flavor,
  image_id: instances.imageId,
  image_properties: instances.imageProperties,
  machine_nics: instances.machineNics,
  numa: instances.numa,
  held: instances.held,
  fault: instances.fault,
  launched_at: instances.launchedAt,
  saga_id: instances.sagaId,
}

export interface InstanceRow {
  readonly server_id: InstanceId
  readonly attempt: number
  readonly version: number
  readonly project_id: string
  readonly vm_state: VmState
  readonly task_state: Task | null
  readonly power_state: number
  readonly host_id: HostId | null
  readonly host: string | null
  readonly hypervisor_hostname: string | null
  readonly zone: string | null
  readonly flavor: FlavorSnapshot | null
  readonly image_id: string | null
  readonly image_properties: Instance['imageProperties']
  readonly machine_nics: readonly MachineNic[] | null
  readonly numa: NumaAllocation | null
  readonly held: HeldAmounts | null
  readonly fault: Fault | null
  readonly launched_at: Date | null
  readonly saga_id: SagaId | null
}

/** The first four are null together. */
function placedOn(row: InstanceRow): Instance['placed'] {
  const { host_id: hostId, host, hypervisor_hostname: hypervisorHostname, zone, numa, held } = row
  if (hostId === null || host === null || hypervisorHostname === null || zone === null) return null
  const chosen = { ...(numa !== null && { numa }), ...(held !== null && { held }) }
  return { hostId, host, hypervisorHostname, zone, ...chosen }
}

export function fromRow(row: InstanceRow): Instance {
  return {
    id: row.server_id,
    attempt: row.attempt,
    version: row.version,
    projectId: row.project_id,
    vmState: row.vm_state,
    taskState: row.task_state,
    powerState: row.power_state,
    placed: placedOn(row),
    flavor: row.flavor,
    imageId: row.image_id,
    imageProperties: row.image_properties,
    machineNics: row.machine_nics,
    fault: row.fault,
    launchedAt: row.launched_at === null ? null : row.launched_at.getTime(),
    sagaId: row.saga_id,
  }
}
