import type { Executor } from '#common/db/database.ts'
import { flavorResources } from '#common/flavor-resources.ts'
import type { CellId } from '#common/ids.ts'
import type { FlavorSnapshot, GroupPolicy, ServerGroupRule } from '#openapi/wire/instance.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { cellsWithHost } from '../../db/host-index.ts'
import { cellsOfServers } from '../../db/instance-mappings.ts'
import type { Network } from '../../db/network.ts'
import { projectUse } from '../../db/project-use.ts'
import { groupMembersByCell, type ServerGroup, TOGETHER } from '../../db/server-groups.ts'
import type { AppliedPolicy } from '../placement-policies/applied-policy.ts'
import { spreadState } from '../placement-policies/spread.ts'
import { filtersOfHints } from '../servers/boot/hints.ts'
import { CELL_FILTERS, type CellHints, type CellRequest } from './cell-filters.ts'
import { usualFiltersFor } from './host-filters.ts'
import { networkSpans } from './tunnels.ts'

/** What of a server decides where it can go. */
export interface CellRequirements {
  readonly flavor: FlavorSnapshot
  readonly image: CellRequest['image']
  readonly zone: string | null
  readonly requestedHost: string | null
  /** Of its NICs. */
  readonly networks: readonly Network[]
  /** Those that it has from the start, and the cell that has them; null: any with a store. Absent: none. */
  readonly volumes?: CellRequest['volumes'] | undefined
  /** The server itself, if it may be in a cell already. */
  readonly serverId?: string
  /** The group the server is a member of; null: none. */
  readonly group: Pick<ServerGroup, 'policy' | 'cellId'> | null
  /** A group that keeps its servers on different hosts, which the server is to join; absent: none. */
  readonly apart?: ServerGroupRule | undefined
  /** Servers it is to share a host with, one of them at least; undefined: none. */
  readonly sameHost: readonly string[] | undefined
  readonly cellHints: CellHints
  /** The placement policy that applies; null: none. */
  readonly policy: AppliedPolicy | null
  /** The cell that keeps a backup of it; absent: none does. */
  readonly replicaCellId?: string | null
  /** Hints for filters of hosts. */
  readonly hints: Readonly<Record<string, unknown>>
}

/** The request that these cells are filtered by, with what the database knows of hosts and networks. */
export async function cellRequest(
  db: Executor,
  required: CellRequirements,
  cells: readonly Cell[],
  tried: readonly string[] = [],
): Promise<CellRequest> {
  const { flavor, image, zone, requestedHost, networks, group, sameHost, serverId } = required
  const request = {
    resources: flavorResources(flavor),
    zone,
    requestedHost,
    image,
    networks,
    volumes: required.volumes ?? null,
    spans: await networkSpans(db, cells, networks, serverId),
    withHost: requestedHost === null ? null : await cellsWithHost(db, requestedHost),
    cellHints: required.cellHints,
    policy: required.policy,
    hostFilters: [
      ...filtersOfHints(required.hints, cells),
      ...usualFiltersFor({ extraSpecs: flavor.extraSpecs, isBeside: sameHost !== undefined }),
    ],
    tried: new Set(tried),
    withServers: sameHost === undefined ? null : await cellsOfServers(db, sameHost),
    group: group?.cellId == null ? null : nearGroup(group.policy, group.cellId),
    apart: await apartFrom(db, required.apart),
    spread: null,
    use: NOTHING,
    charge: { servers: 1, vcpus: flavor.vcpus, memoryMb: flavor.memoryMb },
    full: new Set<string>(),
    replicaCellId: required.replicaCellId ?? null,
  }
  return withUse(db, request, cells, serverId)
}

const NOTHING: CellRequest['use'] = new Map()

async function apartFrom(
  db: Executor,
  group: CellRequirements['apart'],
): Promise<CellRequest['apart']> {
  if (group === undefined) return null
  return { members: await groupMembersByCell(db, group.id), maxPerHost: group.maxPerHost }
}

/** The group where it keeps its servers apart; undefined: it does not, or there is none. */
export function groupApart(group: ServerGroupRule | undefined): ServerGroupRule | undefined {
  return group?.policy === 'anti-affinity' ? group : undefined
}

/** Of cells in which the server will not be later either, a spread takes no notice. */
const LASTING = [
  'EnabledFilter',
  'AvailabilityZoneFilter',
  'TaintTolerationFilter',
  'PreferenceFilter',
] as const

async function withUse(
  db: Executor,
  request: CellRequest,
  cells: readonly Cell[],
  serverId: string | undefined,
): Promise<CellRequest> {
  const { policy } = request
  if (policy === null) return request
  const { spread, limits } = policy.rules
  if (spread === null && limits === null) return request
  const use = await projectUse(db, policy.projectId, serverId)
  const possible = cells.filter((cell) =>
    LASTING.every((name) => CELL_FILTERS[name]!(cell, request) === undefined),
  )
  return { ...request, use, spread: spread && spreadState(spread, possible, use) }
}

/** What a group that has servers in a cell requires of the next one; null: nothing. */
export function nearGroup(policy: GroupPolicy, cellId: CellId): CellRequest['group'] {
  if (!TOGETHER.has(policy)) return null
  return { cellId, isBinding: policy === 'affinity' }
}
