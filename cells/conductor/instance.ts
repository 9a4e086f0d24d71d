import type { HostId, InstanceId, SagaId } from '#common/ids.ts'
import type { Task, VmState } from '#common/states/instance-states.ts'
import type { Fault, InstanceView } from '#openapi/wire/instance.ts'

/** A server as the cell that has it knows it. */
export interface Instance {
  readonly id: InstanceId
  readonly attempt: number
  readonly version: number
  readonly projectId: string
  readonly vmState: VmState
  readonly taskState: Task | null
  /** Nova's number. */
  readonly powerState: number
  readonly placed: PlacedOn
  readonly fault: Fault | null
  /** Milliseconds since the epoch. */
  readonly launchedAt: number | null
  /** Who is changing it; null when nobody is. */
  readonly sagaId: SagaId | null
}

/** The host that has it, as it was called when it was chosen. */
export interface PlacedOn {
  readonly hostId: HostId
  readonly host: string
  readonly hypervisorHostname: string
  readonly zone: string
}

/** What the gateways are told of it. */
export function instanceView(instance: Instance): InstanceView {
  const { id, attempt, version, vmState, taskState, powerState, placed, fault } = instance
  return {
    serverId: id,
    attempt,
    version,
    vmState,
    taskState,
    powerState,
    hostId: placed.hostId,
    host: placed.host,
    hypervisorHostname: placed.hypervisorHostname,
    // Drivers name guests so, and nothing a user chose becomes a name on a host.
    instanceName: `weir-${id}`,
    zone: placed.zone,
    launchedAt: instance.launchedAt,
    terminatedAt: null,
    fault,
  }
}
