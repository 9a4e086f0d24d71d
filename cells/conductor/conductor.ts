import type { NatsConnection } from '@nats-io/transport-node'
import type { Clock } from '#common/clock.ts'
import type { Transactional } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import type { Logger } from '#common/log.ts'
import type { Secrets } from '#common/secrets.ts'
import type { GatewayContact } from '../hosts/gateway-contact.ts'
import type { HostRegistry } from '../hosts/host-registry.ts'
import type { ImageCaches } from '../images/image-caches.ts'
import type { AllocationRatios } from '../placement/ratios.ts'
import type { Scheduling } from '../scheduler/policy.ts'
import type { Builds } from './builds.ts'

/** The services that the cell's sagas and handlers use. */
export interface Conductor {
  readonly cellId: CellId
  /** Zone of hosts that name none. */
  readonly zone: string
  readonly db: Transactional
  readonly nats: NatsConnection
  readonly clock: Clock
  readonly log: Logger
  readonly hosts: HostRegistry
  readonly gateways: GatewayContact
  readonly builds: Builds
  readonly secrets: Secrets
  readonly scheduling: Scheduling
  readonly ratios: AllocationRatios
  /** How many times stores promise their size. */
  readonly storeRatio: number
  /** How long a guest is given to shut down before it is cut off. */
  readonly stopGraceMs: number
  /** Hosts stop their guests once no gateway has been in touch for so long; 0: never. */
  readonly fenceAfterMs: number
  /** How long a boot on a host that OVN joins waits until its ports work; 0: it does not. */
  readonly portsUpTimeoutMs: number
  /** Undefined in a cell without: its hosts read images at the gateways alone. */
  readonly imageCaches: ImageCaches | undefined
  /** Longest wait for one answer of a host. */
  readonly hostTimeoutMs: number
  /** Makes rows just committed to the feed go out soon. */
  readonly feedChanged: () => void
  /** Has the network state that was just committed written soon. */
  readonly networkChanged: () => void
}
