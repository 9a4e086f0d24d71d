import { workContext } from '#common/context.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { type HostId, type InstanceId, newId } from '#common/ids.ts'
import { forEachRow } from '#common/reconciler.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import type { PlainAct } from '#openapi/wire/act.ts'
import type { ActionEvent, FeedBody } from '#openapi/wire/feed.ts'
import type { ReportedGuest } from '#openapi/wire/host.ts'
import type { Cell } from '../cell.ts'
import { endedEvent } from '../conductor/action-event.ts'
import { askHost } from '../conductor/ask-host.ts'
import type { Conductor } from '../conductor/conductor.ts'
import { OPEN_MIGRATIONS } from '../conductor/end-migration.ts'
import { faultOf, type Instance, instanceView } from '../conductor/instance.ts'
import { actSaga } from '../conductor/sagas/act.ts'
import { stateOf } from '../conductor/sagas/boot/activate.ts'
import { queueFeedRow } from '../db/feed.ts'
import { endHostAuthority, isHostAuthoritative } from '../db/hosts.ts'
import { findInstance, instancesOnHost, updateSeenInstance } from '../db/instances.ts'
import { newestBuildRecord } from '../db/operations.ts'
import { newestMigration } from '../db/server-migrations.ts'
import {
  type AuditFinding,
  auditFindings,
  FAILED_ON_HOST,
  NO_SPACE,
  stateOnHost,
} from './audit-findings.ts'
import { believeNodes } from './believe-nodes.ts'

const PAGE = 500
const PAGES_MAX = 200

/**
 * Afterwards the cell's rows agree with the host's guests. A report may be older than the cell's last change, so when
 * one disagrees, the host is asked again after the rows were read: its answer about an instance that has not changed
 * since is the truth. Without a report the host is asked at once. Once after a restore of the database, the cell
 * believes the host instead of telling it to stop a guest.
 */
export async function auditHost(
  cell: Cell,
  hostId: HostId,
  guests?: readonly ReportedGuest[],
): Promise<number> {
  const { conductor } = cell
  const isAuthoritative = await isHostAuthoritative(conductor.db, hostId)
  const known = guests === undefined || isAuthoritative ? undefined : await allOnHost(cell, hostId)
  if (known !== undefined && auditFindings(known, guests!).length === 0) return 0
  const instances = await allOnHost(cell, hostId)
  const seen = await allThatAreThere(conductor, hostId)
  if (seen === undefined) return 0
  const findings = auditFindings(instances, seen)
  const { log } = conductor
  const left = await forEachRow(findings, { log, nameOf: nameOfFinding }, (finding) =>
    isAuthoritative ? believeHost(cell, hostId, finding) : settle(cell, hostId, finding),
  )
  // An instance held by a saga was not compared: a saga that the backup had in progress may still end in an old state.
  const areAllSettled = instances.every(({ sagaId }) => sagaId === null)
  if (isAuthoritative && areAllSettled && left === 0) await endHostAuthority(conductor.db, hostId)
  if (findings.length > 0) conductor.feedChanged()
  return findings.length
}

function nameOfFinding(finding: AuditFinding): string {
  const id = finding.kind === 'unknown' ? finding.id : finding.instance.id
  return `${finding.kind} ${id}`
}

async function allOnHost({ conductor }: Cell, hostId: HostId): Promise<readonly Instance[]> {
  const all: Instance[] = []
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const rows = await instancesOnHost(conductor.db, hostId, all.at(-1)?.id ?? '', PAGE)
    all.push(...rows)
    if (rows.length < PAGE) break
  }
  return all
}

/** Every guest of the host, however many reports they take; undefined when its backend cannot be seen. */
async function allThatAreThere(
  conductor: Conductor,
  hostId: HostId,
): Promise<readonly ReportedGuest[] | undefined> {
  const all: ReportedGuest[] = []
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const after = all.at(-1)?.id
    const ask = after === undefined ? {} : { after }
    const report = await askHost(conductor, hostId, 'report', ask, workContext({}))
    if (report.down !== null) return undefined
    all.push(...report.instances)
    if (report.hasMore !== true) return all
  }
  throw new Failure('internal', `Host ${hostId} reports an endless list of guests.`)
}

async function settle(cell: Cell, hostId: HostId, finding: AuditFinding): Promise<void> {
  switch (finding.kind) {
    case 'interrupted':
      return act(cell, finding.instance, 'start')
    case 'stopped': {
      const change = { vmState: 'stopped', powerState: finding.powerState } as const
      return believe(cell, finding.instance, change, 'stop')
    }
    case 'power':
      return believe(cell, finding.instance, { powerState: finding.powerState })
    case 'failed': {
      const { powerState, reason } = finding
      const fault = faultOf(FAILED_ON_HOST, reason, cell.conductor.clock.now())
      return believe(cell, finding.instance, { vmState: 'error', powerState, fault })
    }
    case 'recovered': {
      const { powerState } = finding
      const vmState = stateOf(powerState)
      return believe(cell, finding.instance, { vmState, powerState, fault: null })
    }
    case 'no-space': {
      const { powerState, reason } = finding
      const fault = faultOf(NO_SPACE, reason, cell.conductor.clock.now())
      return believe(cell, finding.instance, { powerState, fault }, 'pause', reason)
    }
    case 'has-space': {
      const { powerState } = finding
      const isResumed = powerState === POWER_STATES.running ? ('unpause' as const) : undefined
      return believe(cell, finding.instance, { powerState, fault: null }, isResumed)
    }
    case 'released':
      return finishDetaches(cell, hostId, finding)
    case 'nodes':
      return believeNodes(cell.conductor, finding)
    // A server stopped by its user is not billed; Nova stops such a guest, too.
    case 'running':
      return act(cell, finding.instance, 'stop')
    case 'unknown':
      return removeIfOver(cell, hostId, finding.id)
  }
}

/** After a restore it is the database that is old: what was started or stopped since stays so. */
function believeHost(cell: Cell, hostId: HostId, finding: AuditFinding): Promise<void> {
  if (finding.kind !== 'running' && finding.kind !== 'power') return settle(cell, hostId, finding)
  const { instance, powerState } = finding
  return believe(cell, instance, stateOnHost(instance, powerState))
}

async function believe(
  { conductor }: Cell,
  instance: Instance,
  change: Partial<Pick<Instance, 'vmState' | 'powerState' | 'fault'>>,
  recordedAs?: PlainAct,
  details: string | null = null,
): Promise<void> {
  const to = { ...instance, ...change, version: instance.version + 1 }
  const rows: FeedBody[] = [{ kind: 'instance', view: instanceView(to) }]
  if (recordedAs !== undefined) {
    const event = ownEvent(instance, recordedAs, conductor.clock.now())
    rows.push({ kind: 'action-event', event: { ...event, details } })
  }
  await conductor.db.transaction(async (tx) => {
    if (await updateSeenInstance(tx, instance, { to })) queueFeedRow(tx, rows)
  })
  conductor.log.info({ server_id: instance.id, ...change }, 'guest changed without a request')
}

/** Nova records what a guest did by itself as an action of its own, for its owner to see (nova: `_sync_instance_power_state`). */
function ownEvent({ id, placed }: Instance, event: PlainAct, at: number): ActionEvent {
  const times = { startedAt: at, finishedAt: at }
  return endedEvent({
    serverId: id,
    work: workContext({}),
    event,
    ...times,
    host: placed?.host ?? null,
    isOwn: true,
  })
}

/** The gateways are told first: until the host has done its part, it says again what its guest has released. */
async function finishDetaches(
  { conductor }: Cell,
  hostId: HostId,
  { instance, volumes }: Extract<AuditFinding, { kind: 'released' }>,
): Promise<void> {
  const rows = volumes.map((volume): FeedBody => ({ kind: 'volume-released', ...volume }))
  await conductor.db.transaction(async (tx) => queueFeedRow(tx, rows))
  const { id: serverId, attempt } = instance
  for (const { volumeId, attachmentId } of volumes) {
    const operation = { id: newId(), serverId, attempt }
    conductor.log.info({ server_id: serverId, volume_id: volumeId }, 'guest has released a volume')
    await askHost(conductor, hostId, 'volume-detach', { operation, attachmentId }, workContext({}))
  }
}

/** Afterwards the action is under way, unless the instance has changed meanwhile. */
async function act(
  { conductor, sagas }: Cell,
  instance: Instance,
  action: PlainAct,
): Promise<void> {
  const operation = { id: newId(), serverId: instance.id, attempt: instance.attempt }
  const startedAt = conductor.clock.now()
  const params = { operation, action, sealed: null, instance, startedAt, isOwn: true }
  try {
    await sagas.start(actSaga, { subject: instance.id, params, work: workContext({}) })
  } catch (error) {
    if (!isFailure(error, 'conflict')) throw error
  }
}

/** Removes a guest only when the cell knows that it should not be: any other is left for an operator to judge. */
async function removeIfOver({ conductor }: Cell, hostId: HostId, id: InstanceId): Promise<void> {
  const instance = await findInstance(conductor.db, id)
  if (instance !== undefined) return removeIfElsewhere(conductor, hostId, instance)
  const record = await newestBuildRecord(conductor.db, id)
  const isOver = record !== undefined && (record.outcome !== 'accepted' || record.ended !== null)
  const fields = { server_id: id, host: hostId, destroyed: isOver }
  conductor.log.warn(fields, 'guest without a server of this cell')
  if (!isOver) return
  const operation = { id: newId(), serverId: id, attempt: record.attempt }
  await askHost(conductor, hostId, 'destroy', { operation }, workContext({}))
}

/**
 * Removes a guest whose server has settled on another host since this one was fenced, in a way that can be undone. The
 * remains of a move that waits for confirmation are kept, because the move may be reverted to them.
 */
async function removeIfElsewhere(
  conductor: Conductor,
  hostId: HostId,
  { id, attempt, placed, sagaId }: Instance,
): Promise<void> {
  if (placed?.hostId === hostId || sagaId !== null) return
  const migration = await newestMigration(conductor.db, id)
  if (migration !== undefined && OPEN_MIGRATIONS.includes(migration.status)) return
  conductor.log.warn({ server_id: id, host: hostId }, 'guest of a server that is not on this host')
  const operation = { id: newId(), serverId: id, attempt }
  const payload = { operation, act: { name: 'shelve-offload' }, graceMs: 0 } as const
  await askHost(conductor, hostId, 'act', payload, workContext({}))
}
