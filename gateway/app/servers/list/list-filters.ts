import { Failure } from '#common/errors.ts'
import type { Microversion } from '#openapi/microversions.ts'
import { compareMicroversions } from '#openapi/microversions.ts'
import type {
  ServerCondition,
  ServerEqualField,
  ServerTextField,
  TagMode,
} from '../../../db/server-conditions.ts'
import { booleanText } from '../../boolean-text.ts'
import { parseIsoTime } from '../../iso-time.ts'
import type { RequestContext } from '../../request-context.ts'
import type { ServerFilterName, ServerListQuery } from './list-query.ts'
import { refuseDeleted } from './list-scope.ts'
import { statesOf } from './list-states.ts'
import { type TextPattern, textPattern } from './text-pattern.ts'

/** A pattern that SQL cannot look for. */
export interface TextMatcher {
  readonly field: ServerTextField
  readonly pattern: TextPattern
}

/** Patterns of addresses by version. */
export type AddressPatterns = ReadonlyMap<4 | 6, TextPattern>

export interface ListFilters {
  readonly conditions: readonly ServerCondition[]
  readonly matchers: readonly TextMatcher[]
  /** Any of them is to match any address of a server; empty where none was asked for. */
  readonly addresses: AddressPatterns
}

/** Filters every user has, and since when; what else a user names is ignored (nova `_get_server_search_options`). */
const FOR_USERS: Readonly<Partial<Record<ServerFilterName, Microversion>>> = {
  reservation_id: '2.1',
  name: '2.1',
  status: '2.1',
  image: '2.1',
  flavor: '2.1',
  ip: '2.1',
  'changes-since': '2.1',
  ip6: '2.5',
  tags: '2.26',
  'tags-any': '2.26',
  'not-tags': '2.26',
  'not-tags-any': '2.26',
  'changes-before': '2.66',
  locked: '2.73',
  availability_zone: '2.83',
  config_drive: '2.83',
  key_name: '2.83',
  created_at: '2.83',
  launched_at: '2.83',
  terminated_at: '2.83',
  power_state: '2.83',
  task_state: '2.83',
  vm_state: '2.83',
  progress: '2.83',
  user_id: '2.83',
  hostname: '2.90',
}

const EQUAL: Readonly<Partial<Record<ServerFilterName, ServerEqualField>>> = {
  user_id: 'user',
  image: 'image',
  image_ref: 'image',
  flavor: 'flavor',
  host: 'host',
  uuid: 'uuid',
  vm_state: 'vm_state',
  task_state: 'task_state',
}

const TEXT: Readonly<Partial<Record<ServerFilterName, ServerTextField>>> = {
  access_ip_v4: 'access_ip_v4',
  access_ip_v6: 'access_ip_v6',
  auto_disk_config: 'auto_disk_config',
  availability_zone: 'availability_zone',
  config_drive: 'config_drive',
  created_at: 'created_at',
  description: 'description',
  display_description: 'description',
  display_name: 'name',
  hostname: 'hostname',
  kernel_id: 'kernel_id',
  key_name: 'key_name',
  launch_index: 'launch_index',
  launched_at: 'launched_at',
  locked_by: 'locked_by',
  name: 'name',
  node: 'node',
  power_state: 'power_state',
  progress: 'progress',
  ramdisk_id: 'ramdisk_id',
  reservation_id: 'reservation_id',
  root_device_name: 'root_device_name',
  terminated_at: 'terminated_at',
}

const TAGS: Readonly<Partial<Record<ServerFilterName, TagMode>>> = {
  tags: 'all',
  'tags-any': 'any',
  'not-tags': 'not-all',
  'not-tags-any': 'not-any',
}

/** Names that Nova knows as relations of a server, and cannot filter by. */
const RELATIONS = [
  'block_device_mapping',
  'services',
  'metadata',
  'system_metadata',
  'info_cache',
  'security_groups',
  'pci_devices',
] as const satisfies readonly ServerFilterName[]

/** A change is looked for a little further back: its clock was read before it could be seen by others. */
const CHANGES_OVERLAP_MS = 5_000

/**
 * The conditions of a query for servers. Throws `invalid` for malformed filters and `forbidden` for deleted servers;
 * undefined if no server can ever match.
 */
export function listFilters(
  context: RequestContext,
  given: ServerListQuery,
): ListFilters | undefined {
  const query = withoutOverruled(context.isAdmin ? given : allowedToUsers(context, given))
  refuseRelations(query)
  const states = query.status === undefined ? undefined : statesOf(query.status)
  if (states?.length === 0) return noSuchStatus(context)
  const texts = textFilters(query)
  const addresses = addressFilters(query)
  const conditions: readonly ServerCondition[] = [
    ...deletedFilter(context, query, states?.every(({ vm }) => vm === 'deleted') ?? false),
    ...(states === undefined ? [] : [{ is: 'state', anyOf: states } as const]),
    ...equalFilters(query),
    ...tagFilters(query),
    ...(query.locked === undefined ? [] : [{ is: 'locked', value: query.locked } as const]),
    ...changeFilters(query),
    ...texts.flatMap(asLike),
    ...likeAddresses(addresses),
  ]
  return {
    conditions,
    matchers: texts.filter(({ pattern }) => pattern.like === undefined),
    addresses,
  }
}

function allowedToUsers({ microversion }: RequestContext, query: ServerListQuery): ServerListQuery {
  const allowed = Object.entries(query).filter(([name]) => {
    const since = FOR_USERS[name as ServerFilterName]
    return since !== undefined && compareMicroversions(microversion as Microversion, since) >= 0
  })
  return Object.fromEntries(allowed)
}

/** A status stands for the states that show it, and overrides filters of these states. */
function withoutOverruled({ vm_state, task_state, ...query }: ServerListQuery): ServerListQuery {
  if (query.status !== undefined) return query
  return { ...query, ...(vm_state && { vm_state }), ...(task_state && { task_state }) }
}

function refuseRelations(query: ServerListQuery): void {
  const relation = RELATIONS.find((name) => query[name] !== undefined)
  if (relation !== undefined) throw new Failure('invalid', `Invalid filter field: ${relation}.`)
}

/** Until 2.37 a status that does not exist is one that no server has. */
function noSuchStatus({ microversion }: RequestContext): undefined {
  if (compareMicroversions(microversion as Microversion, '2.38') >= 0)
    throw new Failure('invalid', 'Invalid status value')
}

function deletedFilter(
  context: RequestContext,
  query: ServerListQuery,
  wantsDeleted: boolean,
): readonly ServerCondition[] {
  if (wantsDeleted) refuseDeleted(context)
  const asked = query.deleted === undefined ? undefined : (booleanText(query.deleted) ?? false)
  const value = wantsDeleted || asked === true
  const withSoft =
    query.soft_deleted === undefined ? value : booleanText(query.soft_deleted) === true
  const followsChanges =
    query['changes-since'] !== undefined || query['changes-before'] !== undefined
  if (!value && asked === undefined && followsChanges) return []
  return [{ is: 'deleted', value, withSoft }]
}

function equalFilters(query: ServerListQuery): readonly ServerCondition[] {
  return entries(query, EQUAL).map(([field, value]) => {
    return { is: 'equal', field, anyOf: [value] } as const
  })
}

function tagFilters(query: ServerListQuery): readonly ServerCondition[] {
  return entries(query, TAGS).map(([how, value]) => {
    return { is: 'tagged', how, tags: value.split(',') } as const
  })
}

function changeFilters(query: ServerListQuery): readonly ServerCondition[] {
  const since = query['changes-since']
  const before = query['changes-before']
  if (since === undefined && before === undefined) return []
  const from = since === undefined ? undefined : parseIsoTime(since, 'changes-since')
  const to = before === undefined ? undefined : parseIsoTime(before, 'changes-before')
  if (from !== undefined && to !== undefined && from > to)
    throw new Failure(
      'invalid',
      'The value of changes-since must be less than or equal to changes-before.',
    )
  return [
    { is: 'changed', since: from && new Date(from.getTime() - CHANGES_OVERLAP_MS), before: to },
  ]
}

function textFilters(query: ServerListQuery): readonly TextMatcher[] {
  return entries(query, TEXT).map(([field, value]) => {
    return { field, pattern: textPattern(value, field) }
  })
}

function asLike({ field, pattern: { like } }: TextMatcher): readonly ServerCondition[] {
  return like === undefined ? [] : [{ is: 'like', field, pattern: like }]
}

function addressFilters({ ip, ip6 }: ServerListQuery): AddressPatterns {
  return new Map([
    ...(ip === undefined ? [] : [[4, textPattern(ip, 'ip')] as const]),
    ...(ip6 === undefined ? [] : [[6, textPattern(ip6, 'ip6')] as const]),
  ])
}

/** SQL narrows addresses, but does not tell the versions apart. */
function likeAddresses(addresses: AddressPatterns): readonly ServerCondition[] {
  const patterns = [...addresses.values()].map(({ like }) => like)
  const likes = patterns.filter((like) => like !== undefined)
  if (likes.length === 0 || likes.length < patterns.length) return []
  return [{ is: 'address-like', patterns: likes }]
}

function entries<T>(
  query: ServerListQuery,
  table: Readonly<Partial<Record<ServerFilterName, T>>>,
): readonly (readonly [T, string])[] {
  return Object.entries(query).flatMap(([name, value]) => {
    const target = table[name as ServerFilterName]
    return target === undefined || typeof value !== 'string' ? [] : [[target, value] as const]
  })
}
