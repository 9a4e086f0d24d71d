import type { Clock } from '#common/clock.ts'
import type { Transactional } from '#common/db/database.ts'
import type { Logger } from '#common/log.ts'
import type { SagaEngine } from '#common/saga/engine.ts'
import type { Secrets } from '#common/secrets.ts'
import type { AskCell } from '../cell-client/client.ts'
import type { AskHost } from '../cell-client/host-client.ts'
import type { CellRegistry } from '../cell-client/registry.ts'
import type { CellPolicy } from './cells/cell-scores.ts'
import type { OperationWatch } from './operations/operation-watch.ts'
import type { KnownPolicies } from './placement-policies/known-policies.ts'
import type { RequestSpecCache } from './sagas/request-spec-cache.ts'
import type { GroupJoins } from './server-groups/group-joins.ts'
import type { ServerImages } from './servers/boot/server-images.ts'
import type { ServerNetwork } from './servers/boot/server-network.ts'
import type { Prices } from './usage/prices.ts'

/** What building, moving and deleting servers needs; built once per gateway process. */
export interface ComputeDeps {
  readonly db: Transactional
  readonly cells: CellRegistry
  readonly placementPolicies: KnownPolicies
  readonly groupJoins: GroupJoins
  readonly askCell: AskCell
  readonly askHost: AskHost
  readonly secrets: Secrets
  readonly clock: Clock
  readonly log: Logger
  readonly schedulingPolicy: CellPolicy
  /** Undefined where usage has no prices. */
  readonly prices: Prices | undefined
  /** From 0 to below 1. */
  readonly random: () => number
  /** Proof for the image service that this cell may read this image. */
  readonly imageTicket: (imageId: string, cellId: string) => string
  readonly network: ServerNetwork
  readonly images: ServerImages
  readonly specCache: RequestSpecCache
  /** Seconds for which what users delete can be restored; 0: not at all (Nova: `reclaim_instance_interval`). */
  readonly reclaimIntervalS: number
  /** True: every new server has a config drive (Nova: `force_config_drive`). */
  readonly forcesConfigDrive: boolean
}

/** The deps and the engine that runs sagas with them. */
export interface Compute extends ComputeDeps {
  readonly sagas: SagaEngine<ComputeDeps>
  /** Called at the end of every operation, sagas among them. */
  readonly operations: OperationWatch
}
