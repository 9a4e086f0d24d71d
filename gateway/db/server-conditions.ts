import { and, eq, inArray, isNotNull, isNull, like, ne, not, or, type SQL, sql } from 'drizzle-orm'
import { ROOT_DEVICE, type Task, type VmState } from '#common/states/instance-states.ts'
import { INTENT_ACTIONS, taskOfIntent } from '#common/states/intent-actions.ts'
import { serverIndex } from './schema/servers.ts'

/** A requested delete or intent is shown as the task, before the cell's last report. */
const task = sql`case when ${serverIndex.deletedAt} is not null then ${serverIndex.taskState}
  when ${serverIndex.isDeleting} then 'deleting' ${wishTasks()} else ${serverIndex.taskState} end`

function wishTasks(): SQL {
  const cases = INTENT_ACTIONS.map(
    (action) => sql`when ${serverIndex.intent} = ${action} then ${taskOfIntent(action)}`,
  )
  return sql.join(cases, sql` `)
}

const isSoft = eq(serverIndex.vmState, 'soft-delete')
/** A soft-deleted server is listed only among deleted ones. */
export const isNotSoft = ne(serverIndex.vmState, 'soft-delete')

/** The image that the server's image names as this; '' where it names none. As a column, a name loses its table. */
const bootFile = (name: 'kernel' | 'ramdisk') =>
  sql`coalesce((select json_value(r.spec, ${sql.raw(`'$.image.${name}.id'`)}) from request_specs r
    where r.server_id = server_index.server_id), '')`
const written = (column: SQL | typeof serverIndex.createdAt) =>
  sql`date_format(${column}, '%Y-%m-%d %H:%i:%s')`

/** The columns that can be searched by pattern, as text. Missing values are NULL, which no pattern finds. */
export const TEXT_FIELDS = {
  access_ip_v4: sql`${serverIndex.accessIPv4}`,
  access_ip_v6: sql`${serverIndex.accessIPv6}`,
  auto_disk_config: sql`${serverIndex.diskConfig}`,
  availability_zone: sql`coalesce(${serverIndex.zone}, ${serverIndex.requestedZone})`,
  config_drive: sql`if(${serverIndex.configDrive}, 'True', '')`,
  created_at: written(serverIndex.createdAt),
  description: sql`${serverIndex.description}`,
  hostname: sql`${serverIndex.hostname}`,
  kernel_id: bootFile('kernel'),
  key_name: sql`${serverIndex.keyName}`,
  launch_index: sql`cast(${serverIndex.launchIndex} as char)`,
  launched_at: written(sql`${serverIndex.launchedAt}`),
  locked_by: sql`${serverIndex.lockedBy}`,
  name: sql`${serverIndex.name}`,
  node: sql`${serverIndex.hypervisorHostname}`,
  power_state: sql`cast(${serverIndex.powerState} as char)`,
  progress: sql`'0'`,
  ramdisk_id: bootFile('ramdisk'),
  reservation_id: sql`${serverIndex.reservationId}`,
  root_device_name: sql`${ROOT_DEVICE}`,
  terminated_at: written(sql`${serverIndex.terminatedAt}`),
} as const
export type ServerTextField = keyof typeof TEXT_FIELDS

const EQUAL_FIELDS = {
  cell: sql`${serverIndex.cellId}`,
  flavor: sql`${serverIndex.flavorId}`,
  host: sql`${serverIndex.host}`,
  image: sql`${serverIndex.imageId}`,
  project: sql`${serverIndex.projectId}`,
  task_state: task,
  user: sql`${serverIndex.userId}`,
  uuid: sql`${serverIndex.serverId}`,
  vm_state: sql`${serverIndex.vmState}`,
} as const
export type ServerEqualField = keyof typeof EQUAL_FIELDS

/** Something that must hold of every server listed. */
export type ServerCondition =
  | { readonly is: 'equal'; readonly field: ServerEqualField; readonly anyOf: readonly string[] }
  /** `pattern` as in LIKE, for lower-cased text. */
  | { readonly is: 'like'; readonly field: ServerTextField; readonly pattern: string }
  /** An address is like any of these. */
  | { readonly is: 'address-like'; readonly patterns: readonly string[] }
  /** `withSoft`: those that can still be restored are listed too. */
  | { readonly is: 'deleted'; readonly value: boolean; readonly withSoft: boolean }
  | { readonly is: 'locked'; readonly value: boolean }
  | { readonly is: 'changed'; readonly since: Date | undefined; readonly before: Date | undefined }
  | { readonly is: 'tagged'; readonly how: TagMode; readonly tags: readonly string[] }
  /** In any of these states; a null task is none. */
  | { readonly is: 'state'; readonly anyOf: readonly ServerState[] }

export type TagMode = 'all' | 'any' | 'not-all' | 'not-any'

export interface ServerState {
  readonly vm: VmState
  readonly tasks: readonly (Task | null)[]
}

/** The condition in SQL. */
export function serverCondition(condition: ServerCondition): SQL | undefined {
  switch (condition.is) {
    case 'equal':
      return inArray(EQUAL_FIELDS[condition.field], [...condition.anyOf])
    case 'like':
      return like(sql`lower(${TEXT_FIELDS[condition.field]})`, condition.pattern)
    case 'address-like':
      return or(...condition.patterns.map(hasAddressLike))
    case 'deleted':
      return deleted(condition.value, condition.withSoft)
    case 'locked':
      return sql`${serverIndex.isLocked} = ${condition.value}`
    case 'changed':
      return changed(condition.since, condition.before)
    case 'tagged':
      return tagged(condition.how, condition.tags)
    case 'state':
      return or(...condition.anyOf.map(inState))
  }
}

function hasAddressLike(pattern: string): SQL {
  return sql`json_search(lower(${serverIndex.addresses}), 'one', ${pattern}, null, '$.*[*].addr') is not null`
}

function deleted(value: boolean, withSoft: boolean): SQL | undefined {
  if (value)
    return withSoft
      ? or(isNotNull(serverIndex.deletedAt), isSoft)
      : isNotNull(serverIndex.deletedAt)
  return withSoft ? isNull(serverIndex.deletedAt) : and(isNull(serverIndex.deletedAt), isNotSoft)
}

function changed(since: Date | undefined, before: Date | undefined): SQL | undefined {
  return and(
    since && sql`${serverIndex.updatedAt} >= ${sql.param(since, serverIndex.updatedAt)}`,
    before && sql`${serverIndex.updatedAt} <= ${sql.param(before, serverIndex.updatedAt)}`,
  )
}

function tagged(how: TagMode, tags: readonly string[]): SQL | undefined {
  const each = tags.map((tag) => sql`json_contains(${serverIndex.tags}, ${JSON.stringify(tag)})`)
  const joined = how.endsWith('all') ? and(...each) : or(...each)
  return joined !== undefined && how.startsWith('not') ? not(joined) : joined
}

function inState({ vm, tasks }: ServerState): SQL | undefined {
  const named = tasks.filter((each) => each !== null)
  const isVm = sql`${serverIndex.vmState} = ${vm}`
  const isNamed = named.length === 0 ? undefined : inArray(task, named)
  const isNone = tasks.includes(null) ? isNull(task) : undefined
  return and(isVm, or(isNone, isNamed))
}
