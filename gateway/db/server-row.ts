import type { GetColumnData, SQL } from 'drizzle-orm'
import type { MySqlColumn } from 'drizzle-orm/mysql-core'
import type { CellId, HostId, ImageId, InstanceId } from '#common/ids.ts'
import type { Task, VmState } from '#common/states/instance-states.ts'
import { type IntentAction, taskOfIntent } from '#common/states/intent-actions.ts'
import type { ServerRecord } from '../app/servers/list/server-record.ts'
import { jsonText, parseShared } from './json-text.ts'
import { NO_REQUESTED_PROPERTIES } from './requested-properties.ts'
import { serverIndex } from './schema/servers.ts'

/** What to select so that `serverRecordOf` can read the row, from a prepared statement or a built one. */
export const SERVER_COLUMNS = {
  server_id: serverIndex.serverId,
  project_id: serverIndex.projectId,
  user_id: serverIndex.userId,
  cell_id: serverIndex.cellId,
  attempt: serverIndex.attempt,
  version: serverIndex.version,
  name: serverIndex.name,
  hostname: serverIndex.hostname,
  description: serverIndex.description,
  metadata: jsonText(serverIndex.metadata, 'metadata'),
  tags: jsonText(serverIndex.tags, 'tags'),
  is_locked: serverIndex.isLocked,
  locked_reason: serverIndex.lockedReason,
  locked_by: serverIndex.lockedBy,
  flavor: jsonText(serverIndex.flavor, 'flavor'),
  image_id: serverIndex.imageId,
  key_name: serverIndex.keyName,
  config_drive: serverIndex.configDrive,
  addresses: jsonText(serverIndex.addresses, 'addresses'),
  security_groups: jsonText(serverIndex.securityGroups, 'security_groups'),
  reservation_id: serverIndex.reservationId,
  launch_index: serverIndex.launchIndex,
  disk_config: serverIndex.diskConfig,
  requested_zone: serverIndex.requestedZone,
  access_ip_v4: serverIndex.accessIPv4,
  access_ip_v6: serverIndex.accessIPv6,
  is_deleting: serverIndex.isDeleting,
  intent: serverIndex.intent,
  requested: jsonText(serverIndex.requested, 'requested'),
  volumes: jsonText(serverIndex.volumes, 'volumes'),
  vm_state: serverIndex.vmState,
  task_state: serverIndex.taskState,
  power_state: serverIndex.powerState,
  host_id: serverIndex.hostId,
  host: serverIndex.host,
  hypervisor_hostname: serverIndex.hypervisorHostname,
  instance_name: serverIndex.instanceName,
  zone: serverIndex.zone,
  fault: jsonText(serverIndex.fault, 'fault'),
  launched_at: serverIndex.launchedAt,
  terminated_at: serverIndex.terminatedAt,
  created_at: serverIndex.createdAt,
  updated_at: serverIndex.updatedAt,
  deleted_at: serverIndex.deletedAt,
} as const

/** Properties of a row that are narrower than their column, or may be absent from its JSON text. */
interface Narrowed {
  readonly server_id: InstanceId
  readonly cell_id: CellId | null
  readonly locked_by: 'owner' | 'admin' | null
  readonly image_id: ImageId | null
  readonly disk_config: 'AUTO' | 'MANUAL'
  readonly intent: IntentAction | null
  readonly requested: string | null
  readonly volumes: string | null
  readonly vm_state: VmState
  readonly task_state: Task | null
  readonly host_id: HostId | null
  readonly fault: string | null
}

type Column = (typeof SERVER_COLUMNS)[keyof typeof SERVER_COLUMNS]

type Read<C extends Column> =
  C extends SQL.Aliased<infer Text>
    ? Text
    : C extends MySqlColumn
      ? ReadValue<GetColumnData<C>>
      : never

type ReadValue<T> = T extends boolean ? number : T

const NO_VOLUMES: ServerRecord['volumes'] = []

/** A row of `SERVER_COLUMNS` as the driver hands it over: JSON as text, booleans as 0 and 1. */
export type ServerRow = Narrowed & {
  readonly [Name in Exclude<keyof typeof SERVER_COLUMNS, keyof Narrowed>]: Read<
    (typeof SERVER_COLUMNS)[Name]
  >
}

export function serverRecordOf(row: ServerRow): ServerRecord {
  const isThere = row.deleted_at === null
  const isDeleting = Boolean(row.is_deleting) && isThere
  const intent = isThere ? row.intent : null
  return {
    id: row.server_id,
    projectId: row.project_id,
    userId: row.user_id,
    cellId: row.cell_id,
    attempt: row.attempt,
    version: row.version,
    name: row.name,
    hostname: row.hostname,
    description: row.description,
    metadata: parseShared(row.metadata),
    tags: parseShared(row.tags),
    isLocked: Boolean(row.is_locked),
    lockedReason: row.locked_reason,
    lockedBy: row.locked_by,
    flavor: parseShared(row.flavor),
    imageId: row.image_id,
    keyName: row.key_name,
    configDrive: Boolean(row.config_drive),
    addresses: JSON.parse(row.addresses) as ServerRecord['addresses'],
    securityGroups: parseShared(row.security_groups),
    reservationId: row.reservation_id,
    launchIndex: row.launch_index,
    diskConfig: row.disk_config,
    requestedZone: row.requested_zone,
    accessIPv4: row.access_ip_v4,
    accessIPv6: row.access_ip_v6,
    vmState: row.vm_state,
    intent,
    requested: row.requested === null ? NO_REQUESTED_PROPERTIES : parseShared(row.requested),
    volumes: row.volumes === null ? NO_VOLUMES : parseShared(row.volumes),
    taskState: isDeleting ? 'deleting' : intent === null ? row.task_state : taskOfIntent(intent),
    powerState: row.power_state,
    hostId: row.host_id,
    host: row.host,
    hypervisorHostname: row.hypervisor_hostname,
    instanceName: row.instance_name,
    zone: row.zone,
    fault: row.fault === null ? null : (JSON.parse(row.fault) as ServerRecord['fault']),
    launchedAt: row.launched_at,
    terminatedAt: row.terminated_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    deletedAt: row.deleted_at,
  }
}
