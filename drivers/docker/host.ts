import type { Logger } from '#common/log.ts'
import type { Owner } from '../driver.ts'
import type { InstanceLocks } from '../instance-locks.ts'
import type { DiskSizesFile } from './disk-sizes.ts'
import type { Engine } from './engine/engine.ts'
import type { EngineImages } from './images/engine-images.ts'
import type { EngineNetworks } from './networks/engine-networks.ts'
import type { OvnEndpoints } from './networks/ovn-endpoints.ts'

/** The services that every operation of the docker driver uses; built once by `createDockerDriver`. */
export interface DockerHost {
  readonly owner: Owner
  readonly stateDirectory: string
  readonly engine: Engine
  readonly images: EngineImages
  readonly networks: EngineNetworks
  /** Undefined where networks are bridges of the engine. */
  readonly ovn: OvnEndpoints | undefined
  readonly diskSizes: DiskSizesFile
  readonly locks: InstanceLocks
  /** Turns false when the engine's storage says that it cannot limit a container's disk. */
  limitsDisk: boolean
  readonly logger: Logger | undefined
}
