import { and, asc, eq, gt, inArray, isNotNull, sql } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { Lookup } from '#common/db/lookup.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { HostId, InstanceId, SagaId } from '#common/ids.ts'
import type { MachineNic } from '#openapi/wire/instance.ts'
import type { Instance } from '../conductor/instance.ts'
import { fromRow, INSTANCE_COLUMNS, type InstanceRow } from './instance-row.ts'
import { instances } from './schema/instances.ts'

const p = sql.placeholder
const now = sql`now(3)`

const INSERT = statement(
  builder.insert(instances).values({
    serverId: p('id'),
    attempt: p('attempt'),
    version: p('version'),
    projectId: p('projectId'),
    vmState: p('vmState'),
    taskState: p('taskState'),
    powerState: p('powerState'),
    hostId: p('hostId'),
    host: p('host'),
    hypervisorHostname: p('hypervisorHostname'),
    zone: p('zone'),
    // Not as a column of JSON, which would make text of text.
    imageProperties: sql`${p('imageProperties')}`,
    numa: sql`${p('numa')}`,
    held: sql`${p('held')}`,
    fault: null,
    launchedAt: null,
    sagaId: p('sagaId'),
    sealedRecord: p('sealedRecord'),
    sealedSecrets: p('sealedSecrets'),
    createdAt: now,
    updatedAt: now,
  }),
)

/** Everything that may change, in one statement; `sealed_secrets` only goes away. */
const CHANGE = {
  version: sql`${p('version')}`,
  vmState: sql`${p('vmState')}`,
  taskState: sql`${p('taskState')}`,
  powerState: sql`${p('powerState')}`,
  hostId: sql`${p('hostId')}`,
  host: sql`${p('host')}`,
  hypervisorHostname: sql`${p('hypervisorHostname')}`,
  zone: sql`${p('zone')}`,
  flavor: sql`${p('flavor')}`,
  imageId: sql`${p('imageId')}`,
  imageProperties: sql`${p('imageProperties')}`,
  machineNics: sql`${p('machineNics')}`,
  numa: sql`${p('numa')}`,
  held: sql`${p('held')}`,
  fault: sql`${p('fault')}`,
  launchedAt: sql`${p('launchedAt')}`,
  sagaId: sql`${p('sagaId')}`,
  sealedSecrets: sql`if(${p('keepsSecrets')}, sealed_secrets, null)`,
  updatedAt: now,
}

const isThis = and(eq(instances.serverId, p('id')), eq(instances.attempt, p('attempt')))

const UPDATE_AS_OWNER = statement(
  builder
    .update(instances)
    .set(CHANGE)
    .where(and(isThis, eq(instances.sagaId, p('owner')))),
)

const UPDATE_SEEN = statement(
  builder
    .update(instances)
    .set(CHANGE)
    .where(and(isThis, eq(instances.version, p('seenVersion')))),
)

const TAKE_FOR_DELETE = statement(
  builder
    .update(instances)
    .set({
      version: sql`version + 1`,
      taskState: 'deleting',
      sagaId: sql`${p('taker')}`,
      sealedSecrets: null,
      updatedAt: now,
    })
    .where(and(isThis, eq(instances.version, p('seenVersion')))),
)

/** A saga owns one instance only, so each matches its own. */
const REMOVE = statement(
  builder.delete(instances).where(and(isThis, eq(instances.sagaId, p('owner')))),
  { keys: ['id', 'owner'] },
)

const INSTANCES = new Lookup<InstanceRow>(
  (ids) =>
    builder
      .select(INSTANCE_COLUMNS)
      .from(instances)
      .where(inArray(instances.serverId, [...ids])),
  ({ server_id }) => server_id,
)

const FIND_BUILD = statement(
  builder
    .select({ sealed_record: instances.sealedRecord, sealed_secrets: instances.sealedSecrets })
    .from(instances)
    .where(isThis),
)

const LOCK_OWN = statement(
  builder
    .select({ version: instances.version })
    .from(instances)
    .where(and(isThis, eq(instances.sagaId, p('owner'))))
    .for('update'),
)

const FIND_OWNER = statement(
  builder.select({ saga_id: instances.sagaId }).from(instances).where(isThis),
)

const ON_HOST = statement(
  builder
    .select(INSTANCE_COLUMNS)
    .from(instances)
    .where(and(eq(instances.hostId, p('hostId')), gt(instances.serverId, p('after'))))
    .orderBy(asc(instances.serverId))
    .limit(p('max')),
)

const PAGE = statement(
  builder
    .select(INSTANCE_COLUMNS)
    .from(instances)
    .where(gt(instances.serverId, p('after')))
    .orderBy(asc(instances.serverId))
    .limit(p('max')),
)

/** Throws a duplicate-key error when the cell has a row of this server already. */
export function queueInstance(tx: Tx, instance: Instance, sealed: SealedBuild): void {
  const { record: sealedRecord, secrets: sealedSecrets } = sealed
  const imageProperties = jsonOf(instance.imageProperties)
  const numa = jsonOf(instance.placed?.numa ?? null)
  const held = jsonOf(instance.placed?.held ?? null)
  const values = { ...instance, ...instance.placed, imageProperties, numa, held }
  tx.queue(INSERT, { ...values, sealedRecord, sealedSecrets })
}

/** The build request of an instance, in two parts. */
export interface SealedBuild {
  readonly record: string
  /** Null once they are no longer needed. */
  readonly secrets: string | null
}

/** The change that a saga makes to an instance. `keepsSecrets`: a host may still need the secrets of the build. */
export interface InstanceChange {
  readonly to: Instance
  readonly keepsSecrets?: boolean
}

/** Writes the instance if `owner` is still the saga that may change it; false when it was taken from it. */
export async function updateOwnInstance(
  tx: Executor,
  owner: SagaId,
  change: InstanceChange,
): Promise<boolean> {
  const { affectedRows } = await tx.run(UPDATE_AS_OWNER, { ...changeValues(change), owner })
  return affectedRows === 1
}

/** The same, only queued: the transaction fails with `otherwise` when the instance was taken from `owner`. */
export function queueOwnInstance(
  tx: Tx,
  owner: SagaId,
  change: InstanceChange,
  otherwise: () => Error,
): void {
  tx.queue(UPDATE_AS_OWNER, { ...changeValues(change), owner }, { rows: 1, otherwise })
}

/** Writes the instance if nothing has changed it since `seen` was read. */
export async function updateSeenInstance(
  tx: Executor,
  seen: Instance,
  change: InstanceChange,
): Promise<boolean> {
  const values = { ...changeValues(change), seenVersion: seen.version }
  const { affectedRows } = await tx.run(UPDATE_SEEN, values)
  return affectedRows === 1
}

/**
 * Gives the instance to a saga that deletes it, for good; only queued: the transaction fails with `otherwise` when
 * something has changed the instance since `seen` was read.
 */
export function queueTakeForDelete(
  tx: Tx,
  seen: Instance,
  taker: SagaId,
  otherwise: () => Error,
): void {
  const { id, attempt, version: seenVersion } = seen
  tx.queue(TAKE_FOR_DELETE, { id, attempt, seenVersion, taker }, { rows: 1, otherwise })
}

/** Afterwards the row is gone, if `owner` may change it; false when it may not, or did so before. */
export async function removeOwnInstance(
  tx: Executor,
  owner: SagaId,
  { id, attempt }: Pick<Instance, 'id' | 'attempt'>,
): Promise<boolean> {
  const { affectedRows } = await tx.run(REMOVE, { id, attempt, owner })
  return affectedRows === 1
}

/** The same, only queued: the transaction fails with `otherwise` when `owner` may not change it. */
export function queueRemoval(
  tx: Tx,
  owner: SagaId,
  { id, attempt }: Pick<Instance, 'id' | 'attempt'>,
  otherwise: () => Error,
): void {
  tx.queue(REMOVE, { id, attempt, owner }, { rows: 1, otherwise })
}

export async function findInstance(db: Executor, id: InstanceId): Promise<Instance | undefined> {
  const row = await INSTANCES.one(db, id)
  return row === undefined ? undefined : fromRow(row)
}

/** The stored build request of the attempt; undefined if the cell does not have it. */
export async function findSealedBuild(
  db: Executor,
  { id, attempt }: Pick<Instance, 'id' | 'attempt'>,
): Promise<SealedBuild | undefined> {
  const [row] = await db.rows<{
    readonly sealed_record: string
    readonly sealed_secrets: string | null
  }>(FIND_BUILD, { id, attempt })
  return row && { record: row.sealed_record, secrets: row.sealed_secrets }
}

/** True when `owner` is the saga that may change the attempt, which then stays so until the transaction ends. */
export async function lockOwnInstance(
  tx: Tx,
  owner: SagaId,
  { id, attempt }: Pick<Instance, 'id' | 'attempt'>,
): Promise<boolean> {
  return (await tx.rows(LOCK_OWN, { id, attempt, owner })).length === 1
}

/** The saga that may change the attempt; undefined when there is no such attempt, null when no saga holds it. */
export async function findOwner(
  db: Executor,
  { id, attempt }: Pick<Instance, 'id' | 'attempt'>,
): Promise<SagaId | null | undefined> {
  const [row] = await db.rows<{ saga_id: SagaId | null }>(FIND_OWNER, { id, attempt })
  return row?.saga_id
}

/** Where a server's ports are. */
export interface PortsPlace {
  readonly hostId: HostId
  /** Empty: its NICs are not those of a machine. */
  readonly machineNics: readonly MachineNic[]
}

/** For each of these servers that is on a host. */
export async function portsPlaceOfEach(
  db: Executor,
  ids: readonly string[],
): Promise<ReadonlyMap<string, PortsPlace>> {
  if (ids.length === 0) return new Map()
  const { serverId, hostId, machineNics } = instances
  const rows = await db.orm
    .select({ serverId, hostId, machineNics })
    .from(instances)
    .where(and(inArray(serverId, [...ids]), isNotNull(hostId)))
  return new Map(
    rows.map((row) => {
      const nics = (row.machineNics ?? []) as readonly MachineNic[]
      return [row.serverId, { hostId: row.hostId as HostId, machineNics: nics }]
    }),
  )
}

/** Afterwards the attempt has the NICs of this machine; false when `owner` may not change it. Gateways are not told. */
export async function noteMachineNics(
  tx: Tx,
  owner: SagaId,
  { id, attempt }: Pick<Instance, 'id' | 'attempt'>,
  machineNics: readonly MachineNic[],
): Promise<boolean> {
  const [result] = await tx.orm
    .update(instances)
    .set({ machineNics })
    .where(
      and(eq(instances.serverId, id), eq(instances.attempt, attempt), eq(instances.sagaId, owner)),
    )
  return result.affectedRows === 1
}

/** The hosts that have any of these instances. */
export async function hostsOfInstances(
  db: Executor,
  ids: readonly string[],
): Promise<ReadonlySet<HostId>> {
  if (ids.length === 0) return new Set()
  const rows = await db.orm
    .selectDistinct({ hostId: instances.hostId })
    .from(instances)
    .where(and(inArray(instances.serverId, [...ids]), isNotNull(instances.hostId)))
  return new Set(rows.map(({ hostId }) => hostId as HostId))
}

/** At most `max` instances of a host, in order of id, after one. */
export async function instancesOnHost(
  db: Executor,
  hostId: HostId,
  after: string,
  max: number,
): Promise<readonly Instance[]> {
  return (await db.rows<InstanceRow>(ON_HOST, { hostId, after, max: BigInt(max) })).map(fromRow)
}

/** At most `max` instances in order of id, after one. */
export async function instancePage(
  db: Executor,
  after: string,
  max: number,
): Promise<readonly Instance[]> {
  return (await db.rows<InstanceRow>(PAGE, { after, max: BigInt(max) })).map(fromRow)
}

function changeValues({ to, keepsSecrets = false }: InstanceChange): Record<string, unknown> {
  return {
    ...to,
    ...(to.placed ?? NOWHERE),
    flavor: jsonOf(to.flavor),
    imageProperties: jsonOf(to.imageProperties),
    machineNics: jsonOf(to.machineNics),
    numa: jsonOf(to.placed?.numa ?? null),
    held: jsonOf(to.placed?.held ?? null),
    fault: jsonOf(to.fault),
    launchedAt: to.launchedAt === null ? null : new Date(to.launchedAt),
    keepsSecrets,
  }
}

function jsonOf(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value)
}

const NOWHERE = { hostId: null, host: null, hypervisorHostname: null, zone: null }
