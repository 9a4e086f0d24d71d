import type { Interface } from './catalog.ts'
import type { Extra } from './model.ts'

export interface RegisteredRegion {
  readonly id: string
  readonly parentRegionId: string | null
  readonly description: string
  readonly extra: Extra
}

export interface RegisteredService {
  readonly id: string
  readonly type: string
  readonly name: string
  readonly description: string
  readonly enabled: boolean
  readonly extra: Extra
}

export interface RegisteredEndpoint {
  readonly id: string
  readonly serviceId: string
  readonly interface: Interface
  readonly regionId: string | null
  /** May hold `$(project_id)s` and its like, filled in for each token. */
  readonly url: string
  readonly enabled: boolean
  readonly extra: Extra
}
