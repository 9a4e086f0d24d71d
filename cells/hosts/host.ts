import type { HostId } from '#common/ids.ts'
import type { HostAggregate, HostView, Inventory } from '#openapi/wire/host.ts'
import type { AllocationRatios } from '../placement/ratios.ts'
import type { Resources } from '../placement/resources.ts'

/** A compute of this cell, as its rows say. Times in milliseconds since the epoch. */
export interface Host {
  readonly id: HostId
  readonly version: number
  readonly name: string
  /** The one its aggregates say, else its own. */
  readonly zone: string
  readonly ownZone: string
  readonly aggregates: readonly HostAggregate[]
  readonly driver: string
  readonly simulated: boolean
  readonly capabilities: readonly string[]
  readonly isUp: boolean
  readonly down: string | null
  readonly isDisabled: boolean
  readonly disabledReason: string | null
  readonly isForcedDown: boolean
  readonly inventory: Inventory | null
  readonly startedAt: number
  readonly lastSeenAt: number
  readonly provider: Provider | null
}

/** What the host's provider offers and what is taken of it; null until the host has shown an inventory. */
export interface Provider {
  readonly generation: number
  readonly limits: Resources
  readonly used: Resources
  readonly instances: number
}

const NOTHING = { vcpus: 0, memoryMb: 0, diskGb: 0, instances: 0 }

/** What the gateways are told of it. */
export function hostView(host: Host, ratios: AllocationRatios): HostView {
  const { id, provider, capabilities, aggregates, ...shown } = host
  const used = provider === null ? NOTHING : { ...provider.used, instances: provider.instances }
  return {
    hostId: id,
    ...shown,
    capabilities: [...capabilities],
    aggregates: [...aggregates],
    ratios: { ...ratios },
    used,
    metadata: {},
    isDeleted: false,
  }
}
