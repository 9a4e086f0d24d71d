import {
  index,
  int,
  json,
  mediumtext,
  mysqlTable,
  primaryKey,
  text,
  tinyint,
} from 'drizzle-orm/mysql-core'
import { fixedToken, text255, time, token, uuid } from '#common/db/columns.ts'

/** One row per server the cell has now: it is removed once nothing is left of the server here. */
export const instances = mysqlTable(
  'instances',
  {
    serverId: uuid('server_id').primaryKey(),
    attempt: int('attempt').notNull(),
    /** Grows with every change within an attempt. */
    version: int('version').notNull(),
    projectId: token('project_id').notNull(),
    vmState: token('vm_state', 20).notNull(),
    taskState: token('task_state', 32),
    powerState: tinyint('power_state').notNull(),
    /** The only host that may hold anything of the instance; null, with the next three, while it is offloaded. */
    hostId: uuid('host_id'),
    host: token('host'),
    hypervisorHostname: text255('hypervisor_hostname'),
    zone: text255('zone'),
    /** FlavorSnapshot, once it is another than the server was built with. */
    flavor: json('flavor'),
    /** The image it was rebuilt from; null: the one it was built from. */
    imageId: uuid('image_id'),
    /** Of the image that it was built or rebuilt from, by name; null: it was by a release that did not write them down. */
    imageProperties: json('image_properties'),
    /** MachineNic[]; null: its NICs have the MAC addresses of its ports. */
    machineNics: json('machine_nics'),
    /** NumaAllocation; null: it holds nothing of any NUMA node of its host. */
    numa: json('numa'),
    /** HeldAmounts; null: it holds nothing, or was claimed by a release that did not write it down. */
    held: json('held'),
    fault: json('fault'),
    launchedAt: time('launched_at'),
    /** The saga that is changing it; null when none is. */
    sagaId: uuid('saga_id'),
    /** InstanceRecord, sealed: what it was built from, for as long as it is here. */
    sealedRecord: mediumtext('sealed_record').notNull(),
    /** The rest of its InstanceBuild, sealed, for as long as the boot may have to ask a host again; then null. */
    sealedSecrets: mediumtext('sealed_secrets'),
    createdAt: time('created_at').notNull(),
    updatedAt: time('updated_at').notNull(),
  },
  (t) => [index('instances_host').on(t.hostId), index('instances_task').on(t.taskState)],
)

/**
 * The answers of the cell, so that a repeated request gets the same. `slot` is 'build' for the one answer of an attempt
 * (a build accepted or refused, or a delete that came first), otherwise the operation's id.
 */
export const operations = mysqlTable(
  'operations',
  {
    serverId: uuid('server_id').notNull(),
    attempt: int('attempt').notNull(),
    slot: token('slot', 36).notNull(),
    operationId: uuid('operation_id').notNull(),
    /** accepted, refused, deleted. */
    outcome: token('outcome', 16).notNull(),
    /** Of an accepted build: how the attempt ended here (`deleted`, `not-built`); empty while the cell has it. */
    ended: fixedToken('ended', 9).notNull().default(''),
    /** Why it was refused, or ended. */
    reason: text('reason'),
    /** Trace of the newest decision about this attempt, as JSON text: it is only ever passed on. */
    trace: mediumtext('trace'),
    createdAt: time('created_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.serverId, t.attempt, t.slot] }),
    index('operations_created').on(t.createdAt),
  ],
)
