import type { HostId, InstanceId, SagaId } from '#common/ids.ts'
import type { Task, VmState } from '#common/states/instance-states.ts'
import type { Fault, FlavorSnapshot, InstanceView, MachineNic } from '#openapi/wire/instance.ts'
import type { HeldAmounts, NumaAllocation } from '#openapi/wire/numa.ts'

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
  /** Null while it is on no host. */
  readonly placed: PlacedOn | null
  /** Null: as it was built. */
  readonly flavor: FlavorSnapshot | null
  readonly imageId: string | null
  /** Of its image; null: it was built by a release that did not write them down. */
  readonly imageProperties: Readonly<Record<string, string>> | null
  /** Null: its NICs have the MAC addresses of its ports. */
  readonly machineNics: readonly MachineNic[] | null
  readonly fault: Fault | null
  /** Milliseconds since the epoch. */
  readonly launchedAt: number | null
  /** The saga that is changing the instance; null when there is none. */
  readonly sagaId: SagaId | null
}

/** The host that has it, as it was called when it was chosen. */
export interface PlacedOn {
  readonly hostId: HostId
  readonly host: string
  readonly hypervisorHostname: string
  readonly zone: string
  /** What it holds of NUMA nodes of the host; absent: nothing. */
  readonly numa?: NumaAllocation
  /** What it holds of the host; absent: it was claimed by a release that did not write it down. */
  readonly held?: HeldAmounts
}

/** Nova's code for any failure on a host. */
const FAULT_CODE = 500

/** A fault that a user is shown; `details` are for operators. `createdAt` in milliseconds since the epoch. */
export function faultOf(message: string, details: string, createdAt: number): Fault {
  return { code: FAULT_CODE, message, details, createdAt }
}

/** The view of the instance that gateways receive. */
export function instanceView(instance: Instance): InstanceView {
  const { id, attempt, version, vmState, taskState, powerState, placed, fault } = instance
  const { flavor, imageId, machineNics } = instance
  return {
    serverId: id,
    attempt,
    version,
    vmState,
    taskState,
    powerState,
    hostId: placed?.hostId ?? null,
    host: placed?.host ?? null,
    hypervisorHostname: placed?.hypervisorHostname ?? null,
    // Drivers name guests so, and nothing a user chose becomes a name on a host.
    instanceName: `weir-${id}`,
    zone: placed?.zone ?? null,
    launchedAt: instance.launchedAt,
    terminatedAt: null,
    fault,
    ...(flavor === null ? {} : { flavor }),
    ...(imageId === null ? {} : { imageId }),
    ...(machineNics === null ? {} : { machineNics: [...machineNics] }),
    ...(placed?.numa && { numa: placed.numa }),
    ...(placed?.held && { held: { ...placed.held } }),
  }
}
