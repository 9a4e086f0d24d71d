import type { HostId } from '#common/ids.ts'
import type { StepCall } from '#common/saga/saga.ts'
import type { OperationRef, ServerGroupRule } from '#openapi/wire/instance.ts'
import type { NodeWish } from '../../../placement/node-wish.ts'
import type { Resources } from '../../../placement/resources.ts'
import type { Conductor } from '../../conductor.ts'

/** All but the build, which is in the instance's row until the boot is over. */
export interface BootParams {
  readonly operation: OperationRef
  readonly projectId: string
  readonly resources: Resources
  /** What of them is of NUMA nodes, on hosts where these are providers of their own; absent: nothing. */
  readonly nodes?: NodeWish
  /** Absent: a process of the former release began the boot. */
  readonly imageProperties?: Readonly<Record<string, string>>
  /** Absent: it is in no group. */
  readonly group?: ServerGroupRule
  /** Hosts that fitted, best first. */
  readonly candidates: readonly HostId[]
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

export type BootCall = StepCall<Conductor, BootParams>
