import { sql } from 'drizzle-orm'
import type { Executor } from '#common/db/database.ts'
import { sqlStatement } from '#common/db/statement.ts'
import type { Task, VmState } from '#common/states/instance-states.ts'

/** Servers of one cell and host that are in one state. */
export interface ServerCount {
  /** Null: in no cell. */
  readonly cellId: string | null
  readonly hostId: string | null
  readonly vmState: VmState
  readonly taskState: Task | null
  readonly count: number
}

const SERVERS = sqlStatement(sql`
  select cell_id as cellId, host_id as hostId, vm_state as vmState, task_state as taskState, count(*) as count
  from server_index where deleted_at is null group by cell_id, host_id, vm_state, task_state`)

/** All servers that are not deleted. Reads every row of the index of servers. */
export function countServers(db: Executor): Promise<readonly ServerCount[]> {
  return db.rows<ServerCount>(SERVERS, {})
}

const FAILED_BOOTS = sqlStatement(sql`
  select count(*) as count from server_actions
  where started_at > now(3) - interval 1 hour and action = 'create' and message is not null`)

/** Boots that were requested within the last hour and have failed, by the clock of the database. Reads all actions since. */
export async function countFailedBoots(db: Executor): Promise<number> {
  const [row] = await db.rows<{ readonly count: number }>(FAILED_BOOTS, {})
  return Number(row?.count ?? 0)
}

/** How many of everything that has no state worth telling apart. */
export interface ObjectCounts {
  readonly flavors: number
  readonly networks: number
  readonly subnets: number
  readonly routers: number
  readonly ports: number
  readonly floatingIps: number
  /** Of these, those that are to lead to a port and do not. */
  readonly floatingIpsNotActive: number
  readonly securityGroups: number
  readonly volumeSnapshots: number
  readonly images: number
  readonly imageBytes: number
  readonly users: number
  readonly groups: number
  readonly projects: number
  readonly domains: number
  readonly regions: number
  readonly tokens: number
}

const OBJECTS = sqlStatement(sql`select
  (select count(*) from flavors) as flavors,
  (select count(*) from networks) as networks,
  (select count(*) from subnets) as subnets,
  (select count(*) from routers) as routers,
  (select count(*) from ports) as ports,
  (select count(*) from floating_ips) as floatingIps,
  (select count(*) from floating_ips where fixed_port_id is not null
    and reported_status <> 'ACTIVE') as floatingIpsNotActive,
  (select count(*) from security_groups) as securityGroups,
  (select count(*) from volume_snapshots) as volumeSnapshots,
  (select count(*) from images) as images,
  (select coalesce(sum(size), 0) from images) as imageBytes,
  (select count(*) from users) as users,
  (select count(*) from user_groups) as \`groups\`,
  (select count(*) from projects) as projects,
  (select count(*) from domains) as domains,
  (select count(*) from regions) as regions,
  (select count(*) from tokens where expires_at > now()) as tokens`)

/** In one question; each count reads one key of its table. */
export async function countObjects(db: Executor): Promise<ObjectCounts> {
  const [row] = await db.rows<Record<keyof ObjectCounts, number | string>>(OBJECTS, {})
  const counts = Object.entries(row ?? {}).map(([name, count]) => [name, Number(count)])
  return Object.fromEntries(counts) as Record<keyof ObjectCounts, number>
}

export interface VolumeCount {
  readonly status: string
  readonly count: number
}

const VOLUMES = sqlStatement(sql`select status, count(*) as count from volumes group by status`)

/** All volumes, by their status. */
export function countVolumes(db: Executor): Promise<readonly VolumeCount[]> {
  return db.rows<VolumeCount>(VOLUMES, {})
}

/** Work that waits for gateways, or that they are at. */
export interface WorkCounts {
  /** Events that have no number yet. */
  readonly eventInbox: number
  readonly deletingServers: number
  readonly notBuiltServers: number
  readonly imageTasks: number
  readonly runningOperations: readonly { readonly kind: string; readonly count: number }[]
  readonly intents: readonly {
    readonly action: string
    readonly count: number
    /** In seconds, by the clock of the database. */
    readonly oldestAgeS: number
  }[]
}

const WORK = sqlStatement(sql`select
  (select count(*) from event_inbox) as eventInbox,
  (select count(*) from instance_mappings where is_deleting = true) as deletingServers,
  (select count(*) from instance_mappings where is_not_built = true) as notBuiltServers,
  (select count(*) from image_tasks where status in ('pending', 'processing')) as imageTasks`)
const OPERATIONS = sqlStatement(
  sql`select kind, count(*) as count from operations where state = 'running' group by kind`,
)
const INTENTS = sqlStatement(sql`
  select action, count(*) as count,
    timestampdiff(microsecond, min(created_at), now(3)) / 1e6 as oldestAgeS
  from server_intents group by action`)

/** By keys of which hardly any row has the value. */
export async function countWork(db: Executor): Promise<WorkCounts> {
  const [[work], runningOperations, intents] = await Promise.all([
    db.rows<Omit<WorkCounts, 'runningOperations' | 'intents'>>(WORK, {}),
    db.rows<WorkCounts['runningOperations'][number]>(OPERATIONS, {}),
    db.rows<WorkCounts['intents'][number]>(INTENTS, {}),
  ])
  if (work === undefined) throw new Error('The counts have no row')
  const aged = intents.map((each) => ({ ...each, oldestAgeS: Number(each.oldestAgeS) }))
  return { ...work, runningOperations, intents: aged }
}

export interface AppliedPosition {
  readonly cellId: string
  readonly incarnation: string | null
  readonly position: number
}

const POSITIONS = sqlStatement(
  sql`select id as cellId, incarnation, applied_position as position from cell_mappings`,
)

/** How far the feed of each cell has been applied. */
export async function appliedPositions(db: Executor): Promise<readonly AppliedPosition[]> {
  const rows = await db.rows<AppliedPosition>(POSITIONS, {})
  return rows.map((row) => ({ ...row, position: Number(row.position) }))
}

/** How far a cell said in a heartbeat that its feed is. */
export interface Heard {
  readonly incarnation: string
  readonly position: number
}

/** Rows that have not been applied; undefined where the cell has sent no heartbeat, or its feed begins again. */
export function lagOf(
  heard: Heard | undefined,
  applied: AppliedPosition | undefined,
): number | undefined {
  if (heard === undefined || heard.incarnation !== applied?.incarnation) return undefined
  return Math.max(0, heard.position - applied.position)
}

/** What a project has of its quota; memory in MiB. */
export interface ProjectUse {
  readonly projectId: string
  /** Empty where projects are kept elsewhere. */
  readonly name: string
  readonly instances: number
  readonly cores: number
  readonly ram: number
}

const PROJECTS = sqlStatement(sql`
  select u.owner_id as projectId, coalesce(p.name, '') as name, u.instances, u.cores, u.ram
  from (select owner_id,
      max(case when resource = 'instances' then used else 0 end) as instances,
      max(case when resource = 'cores' then used else 0 end) as cores,
      max(case when resource = 'ram' then used else 0 end) as ram
    from quota_usages where resource in ('instances', 'cores', 'ram') group by owner_id
    having instances > 0 order by instances desc, owner_id limit ${sql.placeholder('max')}) u
  left join projects p on p.id = u.owner_id`)

/** The projects with the most servers, at most `max`. */
export function largestProjects(db: Executor, max: number): Promise<readonly ProjectUse[]> {
  return db.rows<ProjectUse>(PROJECTS, { max })
}
