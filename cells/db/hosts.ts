import { and, asc, eq, gt, inArray, isNotNull, type SQL, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { HostId } from '#common/ids.ts'
import type { Inventory } from '#openapi/wire/host.ts'
import type { HostNetwork } from '#openapi/wire/host-network.ts'
import type { HostAggregate, ProviderSettings } from '#openapi/wire/provider.ts'
import type { Host, Provider, TriedFenceDevice } from '../hosts/host.ts'
import { hosts } from './schema/hosts.ts'
import { customResources, resourceProviders } from './schema/placement.ts'

type HostRow = typeof hosts.$inferSelect
type ProviderRow = typeof resourceProviders.$inferSelect

/** The part of a host that changes with every claim, and the version by which the rest is known. */
export interface HostUsage {
  readonly id: HostId
  readonly version: number
  readonly shownGeneration: number
  readonly provider: Provider | null
}

const USAGE = statement(
  builder
    .select({
      id: hosts.hostId,
      version: hosts.version,
      shown: hosts.shownGeneration,
      generation: resourceProviders.generation,
      vcpus_limit: resourceProviders.vcpusLimit,
      memory_limit: resourceProviders.memoryMbLimit,
      disk_limit: resourceProviders.diskGbLimit,
      vcpus_used: resourceProviders.vcpusUsed,
      memory_used: resourceProviders.memoryMbUsed,
      disk_used: resourceProviders.diskGbUsed,
      instances: resourceProviders.instances,
      has_custom:
        sql`exists (select 1 from custom_resources c where c.provider_id = ${hosts.hostId})`.as(
          'has_custom',
        ),
    })
    .from(hosts)
    .leftJoin(resourceProviders, eq(resourceProviders.id, hosts.hostId))
    .where(eq(hosts.isDeleted, false)),
)

const CUSTOM = statement(
  builder
    .select({
      provider_id: customResources.providerId,
      resource_class: customResources.resourceClass,
      limit: customResources.limit,
      used: customResources.used,
    })
    .from(customResources),
)

interface CustomRow {
  readonly provider_id: HostId
  readonly resource_class: string
  readonly limit: number
  readonly used: number
}

interface UsageRow {
  readonly host_id: HostId
  readonly version: number
  readonly shown_generation: number
  readonly generation: number | null
  readonly vcpus_limit: number
  readonly memory_mb_limit: number
  readonly disk_gb_limit: number
  readonly vcpus_used: number
  readonly memory_mb_used: number
  readonly disk_gb_used: number
  readonly instances: number
  readonly has_custom: number
}

interface CustomUsage {
  readonly limits: { readonly custom: Record<string, number> }
  readonly used: { readonly custom: Record<string, number> }
}

/** By host; few hosts have any. */
async function customUsage(db: Executor): Promise<ReadonlyMap<HostId, CustomUsage>> {
  const rows = await db.rows<CustomRow>(CUSTOM, {})
  const usage = new Map<HostId, CustomUsage>()
  for (const row of rows) {
    const of = usage.get(row.provider_id) ?? { limits: { custom: {} }, used: { custom: {} } }
    of.limits.custom[row.resource_class] = row.limit
    of.used.custom[row.resource_class] = row.used
    usage.set(row.provider_id, of)
  }
  return usage
}

/** Usage of every host that is not forgotten: read often, so it leaves out what seldom changes. */
export async function hostUsage(db: Executor): Promise<readonly HostUsage[]> {
  const rows = await db.rows<UsageRow>(USAGE, {})
  const hasCustom = rows.some(({ has_custom }) => has_custom === 1)
  const custom = hasCustom ? await customUsage(db) : new Map<HostId, CustomUsage>()
  return rows.map((row) => ({
    id: row.host_id,
    version: row.version,
    shownGeneration: row.shown_generation,
    provider:
      row.generation === null
        ? null
        : {
            generation: row.generation,
            limits: {
              vcpus: row.vcpus_limit,
              memoryMb: row.memory_mb_limit,
              diskGb: row.disk_gb_limit,
              ...custom.get(row.host_id)?.limits,
            },
            used: {
              vcpus: row.vcpus_used,
              memoryMb: row.memory_mb_used,
              diskGb: row.disk_gb_used,
              ...custom.get(row.host_id)?.used,
            },
            instances: row.instances,
          },
  }))
}

/** These hosts whole; absent ones are left out. */
export function findHosts(db: Executor, ids: readonly HostId[]): Promise<readonly Host[]> {
  return ids.length === 0 ? Promise.resolve([]) : hostsWhere(db, inArray(hosts.hostId, [...ids]))
}

/** At most `max` hosts in order of id, after one. */
export async function hostPage(db: Executor, after: string, max: number): Promise<readonly Host[]> {
  const rows = await hostRows(db, gt(hosts.hostId, after as HostId))
    .orderBy(asc(hosts.hostId))
    .limit(max)
  const custom = await customUsage(db)
  return rows.map(({ host, provider }) => fromRow(host, provider, custom))
}

function hostRows(db: Executor, condition: SQL | undefined) {
  return db.orm
    .select({ host: hosts, provider: resourceProviders })
    .from(hosts)
    .leftJoin(resourceProviders, eq(resourceProviders.id, hosts.hostId))
    .where(condition)
}

async function hostsWhere(db: Executor, condition: SQL | undefined): Promise<readonly Host[]> {
  const rows = await hostRows(db, condition)
  const custom = await customUsage(db)
  return rows.map(({ host, provider }) => fromRow(host, provider, custom))
}

/** Every host that is not forgotten, and how it is joined to networks, by id. */
export async function hostNetworks(db: Executor): Promise<ReadonlyMap<HostId, HostNetwork | null>> {
  const rows = await db.orm
    .select({ id: hosts.hostId, network: hosts.network })
    .from(hosts)
    .where(eq(hosts.isDeleted, false))
  return new Map(rows.map(({ id, network }) => [id as HostId, network as HostNetwork | null]))
}

/** The fence devices of hosts that are not forgotten, as they were when they were last tried, by the hosts' names. */
export async function findTriedFenceDevices(
  db: Executor,
): Promise<readonly { readonly host: string; readonly device: TriedFenceDevice }[]> {
  const rows = await db.orm
    .select({ host: hosts.name, device: hosts.fenceDevice })
    .from(hosts)
    .where(and(eq(hosts.isDeleted, false), isNotNull(hosts.fenceDevice)))
    .orderBy(asc(hosts.name))
  return rows.map(({ host, device }) => ({ host, device: device as TriedFenceDevice }))
}

/** Adds the host, as version 1; false when it is there already. */
export async function insertHost(db: Executor, host: Host): Promise<boolean> {
  const [result] = await db.orm
    .insert(hosts)
    .ignore()
    .values({ hostId: host.id, ...columnsOf(host) })
  return result.affectedRows === 1
}

/** Writes the host unless its row has changed since `seenVersion`. */
export async function updateHost(db: Executor, seenVersion: number, host: Host): Promise<boolean> {
  const [result] = await db.orm
    .update(hosts)
    .set(columnsOf(host))
    .where(and(eq(hosts.hostId, host.id), eq(hosts.version, seenVersion)))
  return result.affectedRows === 1
}

function columnsOf(host: Host): Omit<HostRow, 'hostId' | 'isAuthoritative'> {
  const { id: _, provider, startedAt, lastSeenAt, fencedAt, ...shown } = host
  return {
    ...shown,
    shownGeneration: provider?.generation ?? 0,
    startedAt: new Date(startedAt),
    lastSeenAt: new Date(lastSeenAt),
    fencedAt: fencedAt === null ? null : new Date(fencedAt),
    capabilities: [...host.capabilities],
    aggregates: [...host.aggregates],
    settings: host.settings ?? sql`null`,
    inventory: host.inventory ?? sql`null`,
    network: host.network ?? sql`null`,
    fenceDevice: host.fenceDevice ?? sql`null`,
  }
}

function fromRow(
  host: HostRow,
  provider: ProviderRow | null,
  custom: ReadonlyMap<HostId, CustomUsage>,
): Host {
  const { hostId, shownGeneration: _, ...row } = host
  return {
    ...row,
    id: hostId as HostId,
    capabilities: row.capabilities as string[],
    aggregates: row.aggregates as HostAggregate[],
    settings: row.settings as ProviderSettings | null,
    inventory: row.inventory as Inventory | null,
    network: row.network as HostNetwork | null,
    fenceDevice: row.fenceDevice as TriedFenceDevice | null,
    startedAt: row.startedAt.getTime(),
    lastSeenAt: row.lastSeenAt.getTime(),
    fencedAt: row.fencedAt?.getTime() ?? null,
    provider: provider === null ? null : providerFrom(provider, custom.get(hostId as HostId)),
  }
}

function providerFrom(row: ProviderRow, custom: CustomUsage | undefined): Provider {
  return {
    generation: row.generation,
    limits: {
      vcpus: row.vcpusLimit,
      memoryMb: row.memoryMbLimit,
      diskGb: row.diskGbLimit,
      ...custom?.limits,
    },
    used: {
      vcpus: row.vcpusUsed,
      memoryMb: row.memoryMbUsed,
      diskGb: row.diskGbUsed,
      ...custom?.used,
    },
    instances: row.instances,
  }
}

const isHost = eq(hosts.hostId, sql.placeholder('hostId'))
const IS_HOST_AUTHORITATIVE = statement(
  builder.select({ is_believed: hosts.isAuthoritative }).from(hosts).where(isHost),
)
const END_HOST_AUTHORITY = statement(
  builder.update(hosts).set({ isAuthoritative: false }).where(isHost),
)

/** Afterwards what each host says that it runs is believed once over what the database says. */
export async function makeHostsAuthoritative(tx: Tx): Promise<void> {
  await tx.orm.update(hosts).set({ isAuthoritative: true })
}

/** True when the database was restored since the host was last compared with it. */
export async function isHostAuthoritative(db: Executor, hostId: HostId): Promise<boolean> {
  const [row] = await db.rows<{ is_believed: number | boolean }>(IS_HOST_AUTHORITATIVE, { hostId })
  return Boolean(row?.is_believed)
}

/** Afterwards the database is believed over the host again: they have been compared. */
export async function endHostAuthority(db: Executor, hostId: HostId): Promise<void> {
  await db.run(END_HOST_AUTHORITY, { hostId })
}
