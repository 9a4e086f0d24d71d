import type { InstanceId } from '#common/ids.ts'
import type { InjectedFile } from '#openapi/wire/instance.ts'
import type { Trace } from '#openapi/wire/trace.ts'
import type { IdempotencyKey } from '../../../db/idempotency-keys.ts'
import type { GroupRecord } from '../../../db/server-groups.ts'
import type { PlacementPromise } from '../../placement-policies/placement-promise.ts'
import type { BuildSpec } from '../boot/build-spec.ts'
import type { NewServer } from '../boot/new-server.ts'
import type { PlannedVolume } from '../boot/plan-volumes.ts'
import type { SchedulerHints } from '../boot/requested-properties.ts'
import type { NicsPlan } from '../boot/server-network.ts'

/** One server of an order: everything about it is decided, and nothing written. */
export interface PlannedServer {
  readonly row: Omit<NewServer, 'addresses' | 'requested'>
  readonly spec: Omit<BuildSpec, 'nics'>
  /** Those that it has from the start. */
  readonly volumes: readonly PlannedVolume[]
  /** How its cell was chosen. */
  readonly trace: Trace
}

/** The servers of one request, kept all or none. */
export interface ServerOrder {
  readonly servers: readonly PlannedServer[]
  readonly nics: NicsPlan
  /** What must still hold of the project's servers when these are written. */
  readonly promise: PlacementPromise | null
  /** The group they join; null: none. */
  readonly group: GroupRecord | null
  readonly hints: SchedulerHints
  /** Base64, as the user sent it; null: none. */
  readonly userData: string | null
  readonly files: readonly InjectedFile[]
  /** Null: none was asked for and none is generated. */
  readonly adminPassword: string | null
  /** Null: the client gave none. */
  readonly key: IdempotencyKey | null
}

export function serverIds(order: ServerOrder): readonly InstanceId[] {
  return order.servers.map(({ row }) => row.id)
}
