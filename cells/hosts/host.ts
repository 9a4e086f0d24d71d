import type { HostId } from '#common/ids.ts'
import type { HostView, Inventory } from '#openapi/wire/host.ts'
import type { HostNetwork } from '#openapi/wire/host-network.ts'
import type { HostAggregate, ProviderSettings } from '#openapi/wire/provider.ts'
import { type AllocationRatios, ratiosOf } from '../placement/ratios.ts'
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
  /** Null: administrators decided nothing. */
  readonly settings: ProviderSettings | null
  readonly driver: string
  readonly simulated: boolean
  readonly capabilities: readonly string[]
  readonly isUp: boolean
  readonly down: string | null
  readonly isDisabled: boolean
  readonly disabledReason: string | null
  readonly isForcedDown: boolean
  /** When the cell made sure that none of its guests runs, because it did not answer; null: it did not, or the host has started since. */
  readonly fencedAt: number | null
  /** The cell tells it of no contact to a gateway any more, so that it stops its guests by itself. */
  readonly isLeftAlone: boolean
  /** Why it was not fenced although it does not answer. */
  readonly fenceProblem: string | null
  /** What the cell fences it by, as it was when it was last tried; null: nothing. */
  readonly fenceDevice: TriedFenceDevice | null
  readonly inventory: Inventory | null
  /** Null: it is joined to no network engine. */
  readonly network: HostNetwork | null
  readonly startedAt: number
  readonly lastSeenAt: number
  readonly provider: Provider | null
  /** The host is forgotten: it has no known guests, and is not shown. */
  readonly isDeleted: boolean
}

/** A device that powers the host off. */
export interface TriedFenceDevice {
  /** For operators. */
  readonly name: string
  /** Why it could not be used; null: it can. */
  readonly problem: string | null
  /** It said that the machine was off while the host answered. */
  readonly isOfOther: boolean
}

/**
 * The amounts that the host's provider offers and that are allocated on it; null until the host has reported an
 * inventory.
 */
export interface Provider {
  readonly generation: number
  readonly limits: Resources
  readonly used: Resources
  readonly instances: number
}

/** Those that its driver finds, and those that administrators gave it. */
export function traitsOf({ inventory, settings }: Pick<Host, 'inventory' | 'settings'>): string[] {
  return [...new Set([...(inventory?.traits ?? []), ...(settings?.traits ?? [])])]
}

const NOTHING = { vcpus: 0, memoryMb: 0, diskGb: 0, instances: 0 }

/** The view of the host that gateways receive. */
export function hostView(host: Host, ratios: AllocationRatios): HostView {
  const { id, provider, capabilities, aggregates, settings, network, ...rest } = host
  const { fencedAt, fenceProblem, fenceDevice, isLeftAlone: _, ...shown } = rest
  const machines = host.inventory?.machines
  return {
    hostId: id,
    ...shown,
    capabilities: [...capabilities],
    aggregates: [...aggregates],
    ratios: { ...ratiosOf(host, ratios) },
    used:
      provider === null
        ? NOTHING
        : { ...usedOf(provider, machines), instances: provider.instances },
    metadata: {},
    ...(settings !== null && { settings }),
    ...(network !== null && { network }),
    ...(fencedAt !== null && { fencedAt }),
    ...(fenceProblem !== null && { fenceProblem }),
    ...(fenceDevice !== null && {
      fenceDevice: { name: fenceDevice.name, problem: fenceDevice.problem },
    }),
  }
}

/** Of a host of whole machines all that is in the machines that have servers, though none of that is claimed. */
function usedOf({ used }: Provider, machines: Inventory['machines']): Resources {
  if (machines === undefined) return used
  const taken = (amount: 'vcpus' | 'memoryMb' | 'diskGb') =>
    machines.reduce((sum, each) => sum + each[amount] * (used.custom?.[each.resourceClass] ?? 0), 0)
  return {
    vcpus: taken('vcpus'),
    memoryMb: taken('memoryMb'),
    diskGb: taken('diskGb'),
    custom: used.custom ?? {},
  }
}
