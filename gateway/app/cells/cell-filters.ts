import {
  canonicalArchitecture,
  runsGuestsOf,
  wantedArchitecture,
  wantedHypervisor,
} from '#common/image-properties.ts'
import type { Cell, Resources } from '../../cell-client/cell.ts'
import type { Network } from '../../db/network.ts'
import type { CellUse } from '../../db/project-use.ts'
import { networksReach } from '../networks/cells-reaching.ts'
import type { AppliedPolicy } from '../placement-policies/applied-policy.ts'
import { addedUse, exceededLimit, NO_USE } from '../placement-policies/cell-limits.ts'
import { type SpreadState, unevenReason } from '../placement-policies/spread.ts'
import { taintText, tolerates } from '../placement-policies/taints.ts'
import { runsHostFilter } from './host-filters.ts'
import { preferenceReason } from './preference.ts'
import { type NetworkSpans, separationReason } from './tunnels.ts'

/** Cells by name: the only one that a server may be in, and those that it is not to be in. Absent: any, and none. */
export interface CellHints {
  readonly targetCell?: string
  readonly differentCells?: readonly string[]
}

/** What a server needs of the cell it is to be built in. */
export interface CellRequest {
  readonly resources: Resources
  readonly zone: string | null
  readonly requestedHost: string | null
  readonly image: {
    readonly diskFormat: string
    readonly properties: Readonly<Record<string, string>>
  }
  /** Of the server's NICs. */
  readonly networks: readonly Network[]
  /** Where other servers are on these networks. */
  readonly spans: NetworkSpans
  /** Volumes that it has from the start, in this cell; `cellId` null: in any that has a store. Null: none. */
  readonly volumes: { readonly cellId: string | null } | null
  /** Cells that have the requested host; null: none was requested. */
  readonly withHost: ReadonlySet<string> | null
  /** Cells that have one of the servers it is to share a host with; null: it is to share none. */
  readonly withServers: ReadonlySet<string> | null
  readonly cellHints: CellHints
  /** Filters of hosts that it depends on, which do not run in every cell. */
  readonly hostFilters: readonly string[]
  /** Cells that refused this server or gave it up. */
  readonly tried: ReadonlySet<string>
  /** Where the servers of its group are: it must go there, or would rather; null: anywhere. */
  readonly group: { readonly cellId: string; readonly isBinding: boolean } | null
  /** The servers of a group that keeps them on different hosts, in each cell, and how many a host may have; null: in no such group. */
  readonly apart: {
    readonly members: ReadonlyMap<string, number>
    readonly maxPerHost: number
  } | null
  /** The placement policy that applies; null: none. */
  readonly policy: AppliedPolicy | null
  /** Of the servers of its project, as its policy wants it; null: any. */
  readonly spread: SpreadState | null
  /** What its project has in each cell, where its policy has limits. */
  readonly use: ReadonlyMap<string, CellUse>
  /** What its project is charged for it. */
  readonly charge: CellUse
  /** Cells that say they have no hosts for more servers of its request. */
  readonly full: ReadonlySet<string>
  /** The cell that keeps a backup of it; null: none does. */
  readonly replicaCellId: string | null
}

/** Says why a cell will not do, or undefined when it will. */
export type CellFilter = (cell: Cell, request: CellRequest) => string | undefined

/** The hypervisor type that marks an image as made for simulated cells. */
const SIMULATED = 'fake'

/**
 * In the order they run. Names are Nova's where Nova has the filter. What rules a cell out for good comes first, so that the
 * last refusal tells of a cell that is unreachable where only that one would do.
 */
export const CELL_FILTERS: Readonly<Record<string, CellFilter>> = {
  RetryFilter: ({ id }, { tried }) => (tried.has(id) ? 'refused this server before' : undefined),
  EnabledFilter: ({ isEnabled }) => (isEnabled ? undefined : 'disabled'),
  HostFilter: ({ id }, { withHost, requestedHost }) =>
    withHost === null || withHost.has(id) ? undefined : `has no host '${requestedHost}'`,
  AvailabilityZoneFilter: ({ summary }, { zone }) =>
    zone === null || summary === undefined || summary.zones.includes(zone)
      ? undefined
      : `has no zone '${zone}'`,
  ServerGroupAffinityFilter: ({ id }, { group }) =>
    group === null || !group.isBinding || group.cellId === id
      ? undefined
      : 'does not have the other servers of its group',
  SameHostFilter: ({ id }, { withServers }) =>
    withServers === null || withServers.has(id)
      ? undefined
      : 'has none of the servers it is to be beside',
  VolumeFilter: volumeReason,
  TargetCellFilter: ({ name }, { cellHints: { targetCell = name } }) =>
    targetCell === name ? undefined : 'is not the cell that it is to be in',
  DifferentCellFilter: ({ name }, { cellHints: { differentCells = [] } }) =>
    differentCells.includes(name) ? 'is a cell that it is not to be in' : undefined,
  TaintTolerationFilter: taintReason,
  PreferenceFilter: preferenceReason,
  TunnelFilter: (cell, { spans }) => separationReason(spans, cell),
  AliveFilter: ({ isReachable, summary }) =>
    isReachable && summary !== undefined ? undefined : 'no heartbeat lately',
  OptionalFilter: ({ summary }, { hostFilters }) => {
    const missing = hostFilters.find((name) => !runsHostFilter({ summary }, name))
    return missing === undefined ? undefined : `does not run the ${missing}, which it depends on`
  },
  ComputeFilter: ({ summary }) => (summary!.hostsUp > 0 ? undefined : 'no host is up'),
  ImagePropertiesFilter: imageReason,
  NetworkFilter: ({ id }, { networks }) =>
    networksReach(networks, id) ? undefined : 'does not reach all networks',
  SpreadFilter: ({ id }, { spread }) => (spread?.isRequired ? unevenReason(spread, id) : undefined),
  LimitFilter: limitReason,
  FittingFilter: ({ id }, { full }) =>
    full.has(id) ? 'has no hosts for more servers of the request' : undefined,
  ServerGroupAntiAffinityFilter: apartReason,
  CapacityFilter: capacityReason,
}

function apartReason({ id, summary }: Cell, { apart }: CellRequest): string | undefined {
  if (apart === null) return undefined
  const members = apart.members.get(id) ?? 0
  const { hostsUp } = summary!
  if (members < hostsUp * apart.maxPerHost) return undefined
  return `has ${members} servers of the group, which its ${hostsUp} hosts may have ${apart.maxPerHost} of each`
}

function limitReason({ id }: Cell, { policy, use, charge }: CellRequest): string | undefined {
  const limits = policy?.rules.limits
  if (limits == null) return undefined
  const exceeded = exceededLimit(limits, addedUse(use.get(id) ?? NO_USE, charge))
  return exceeded && `policy ${policy!.name} allows the project ${exceeded} there, no more`
}

function volumeReason({ id, summary }: Cell, { volumes }: CellRequest): string | undefined {
  if (volumes === null) return undefined
  if (volumes.cellId !== null && volumes.cellId !== id) return 'does not have the volumes'
  const hasNoStore = summary !== undefined && (summary.stores ?? []).length === 0
  return volumes.cellId === null && hasNoStore ? 'has no store for the volumes' : undefined
}

function taintReason({ taints }: Cell, { policy }: CellRequest): string | undefined {
  if (taints.length === 0) return undefined
  const tolerations = policy?.rules.tolerations ?? []
  const taint = taints.find((each) => each.effect === 'NoSchedule' && !tolerates(tolerations, each))
  if (taint === undefined) return undefined
  const who =
    policy === null ? 'no placement policy tolerates' : `policy ${policy.name} does not tolerate`
  return `has the taint ${taintText(taint)}, which ${who}`
}

/** Why no host of the cell, which has reported, can build a server from the image; undefined: one can. */
export function imageReason(
  { summary }: Pick<Cell, 'summary'>,
  { image }: Pick<CellRequest, 'image'>,
): string | undefined {
  const { simulated, hypervisorTypes, architectures, imageFormats } = summary!
  const hypervisor = wantedHypervisor(image.properties)
  // A simulated cell would report a guest that does not exist.
  if (simulated && hypervisor !== SIMULATED)
    return `is simulated; only images with property hypervisor_type=${SIMULATED} run there`
  if (hypervisor !== undefined && !hypervisorTypes.some((type) => runsGuestsOf(type, hypervisor)))
    return `has no hypervisor of type '${hypervisor}'`
  const architecture = wantedArchitecture(image.properties)
  const known = architectures.map(canonicalArchitecture)
  if (architecture !== undefined && !known.includes(architecture))
    return `has no host of architecture '${architecture}'`
  return imageFormats.includes(image.diskFormat)
    ? undefined
    : `cannot use images of format '${image.diskFormat}'`
}

/** `largest` is the most that one server may have of one host, overcommit included. */
function capacityReason({ summary }: Cell, { resources }: CellRequest): string | undefined {
  const { largest, largestCustom = {} } = summary!
  if (resources.vcpus > largest.vcpus)
    return `no host has ${resources.vcpus} VCPU free for one server`
  if (resources.memoryMb > largest.memoryMb)
    return `no host has ${resources.memoryMb} MiB free for one server`
  if (resources.diskGb > largest.diskGb)
    return `no host has ${resources.diskGb} GiB free for one server`
  const lacking = Object.entries(resources.custom ?? {}).find(
    ([name, amount]) => amount > (largestCustom[name] ?? 0),
  )
  return lacking === undefined
    ? undefined
    : `no host has ${lacking[1]} ${lacking[0]} free for one server`
}
