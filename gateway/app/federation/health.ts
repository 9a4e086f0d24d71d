import type { NatsConnection } from '@nats-io/transport-node'
import { databaseStatus, type NodeStatus } from '#common/db/database-status.ts'
import { errorChain } from '#common/errors.ts'
import { countStuck } from '#common/saga/stuck.ts'
import { withDeadline } from '#common/with-deadline.ts'
import { HEALTH_STATES, type HealthCheck, type HealthState } from '#openapi/wire/health.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { appliedPositions, countWork, lagOf } from '../../db/federation-counts.ts'
import { unsentEvents } from '../../db/notified-events.ts'
import { MIGRATIONS_FOLDER } from '../../db/readiness.ts'
import { countStuckRows } from '../../db/reconciler-rows.ts'
import type { ComputeDeps } from '../compute.ts'
import type { AllGateways } from './all-gateways.ts'
import { clockCheck } from './clock-check.ts'

export interface HealthDeps extends Pick<ComputeDeps, 'db' | 'cells'> {
  readonly nats: Pick<NatsConnection, 'rtt'>
  readonly gateways: AllGateways
  readonly databaseUrl: string
  /** True where this gateway sends Nova's notifications. */
  readonly sendsNotifications: boolean
}

export interface Health {
  /** The worst of all checks. */
  readonly status: HealthState
  readonly checks: readonly HealthCheck[]
}

const ANSWER_LIMIT_MS = 2_000
/** More are no backlog of a moment. */
const WAITING_MAX = 1_000

/** Looks at everything now. What cannot be looked at is a check that failed; nothing is thrown. */
export async function federationHealth(deps: HealthDeps): Promise<Health> {
  const [gateways, database, bus, work] = await Promise.all([
    deps.gateways.health(),
    databaseChecks(deps.databaseUrl),
    busCheck(deps.nats),
    workChecks(deps),
  ])
  const cells = deps.cells.cells()
  const releases = [
    ...gateways.map(({ gateway, release }) => [gateway, release] as const),
    ...cells.map(({ name, summary }) => [`cell ${name}`, summary?.release ?? ''] as const),
  ]
  const checks = [
    ...gateways.flatMap((each) => each.checks),
    ...database,
    bus,
    ...cells.map(cellCheck),
    ...work,
    ...cells.flatMap((cell) => cellClock(deps, cell)),
    releaseCheck(releases),
  ]
  return { status: worst(checks), checks }
}

export function worst(checks: readonly Pick<HealthCheck, 'status'>[]): HealthState {
  const ranks = checks.map(({ status }) => HEALTH_STATES.indexOf(status))
  return HEALTH_STATES[Math.max(0, ...ranks)] ?? 'failed'
}

async function databaseChecks(url: string): Promise<readonly HealthCheck[]> {
  try {
    const { nodes, migrations } = await databaseStatus(url, MIGRATIONS_FOLDER)
    const hasWriter = nodes.some(({ state }) => state === 'writer')
    const pending = migrations?.pending.length ?? 0
    const lacking: readonly HealthCheck[] =
      pending === 0
        ? []
        : [failed('database', 'migrations', `${pending} are missing. Run ./weir db migrate.`)]
    return [...nodes.map((node) => nodeCheck(node, hasWriter)), ...lacking]
  } catch (error) {
    return [failed('database', 'global', errorChain(error))]
  }
}

function nodeCheck({ address, state, reason }: NodeStatus, hasWriter: boolean): HealthCheck {
  const isWell = state === 'writer' || state === 'ready'
  // The others of a cluster serve on.
  const status = isWell ? 'ok' : hasWriter ? 'degraded' : 'failed'
  return { kind: 'database', name: address, status, reason: reason ?? state }
}

async function busCheck(nats: HealthDeps['nats']): Promise<HealthCheck> {
  try {
    const ms = await withDeadline(ANSWER_LIMIT_MS, nats.rtt())
    return { kind: 'bus', name: 'nats', status: 'ok', reason: `answers in ${ms} ms` }
  } catch (error) {
    return failed('bus', 'nats', `does not answer: ${errorChain(error)}`)
  }
}

function cellCheck(cell: Cell): HealthCheck {
  const { name, isLost, isReachable, isEnabled, summary } = cell
  if (isLost) return failed('cell', name, 'declared lost')
  if (!isReachable) return failed('cell', name, 'unreachable: no heartbeat comes')
  const { hosts = 0, hostsUp = 0 } = summary ?? {}
  const reason = `${hostsUp} of ${hosts} hosts up${isEnabled ? '' : ', disabled by an operator'}`
  return { kind: 'cell', name, status: hostsUp < hosts ? 'degraded' : 'ok', reason }
}

async function workChecks({
  db,
  cells,
  sendsNotifications,
}: HealthDeps): Promise<readonly HealthCheck[]> {
  try {
    const unsent = sendsNotifications ? await unsentEvents(db) : undefined
    const work = await withDeadline(ANSWER_LIMIT_MS, countWork(db))
    const stuck = (await countStuck(db)) + (await countStuckRows(db)) + stuckInCells(cells.cells())
    const positions = new Map((await appliedPositions(db)).map((each) => [each.cellId, each]))
    const lags = cells.cells().flatMap(({ id, name }): readonly HealthCheck[] => {
      const lag = lagOf(cells.heardOf(id), positions.get(id))
      return lag === undefined ? [] : [lengthCheck('feed', name, lag, 'changes not applied')]
    })
    return [
      ...lags,
      lengthCheck('queue', 'events', work.eventInbox, 'waiting'),
      lengthCheck('queue', 'deletes', work.deletingServers, 'waiting'),
      lengthCheck('queue', 'image imports', work.imageTasks, 'waiting'),
      ...(unsent === undefined
        ? []
        : [lengthCheck('queue', 'notifications', unsent, 'events not notified')]),
      {
        kind: 'operations',
        name: 'stuck',
        status: stuck === 0 ? 'ok' : 'degraded',
        reason:
          stuck === 0
            ? 'none'
            : `${stuck}. To list them, run: ./weir operation list --state failed`,
      },
    ]
  } catch (error) {
    return [failed('queue', 'all', `cannot be read: ${errorChain(error)}`)]
  }
}

function stuckInCells(cells: readonly Cell[]): number {
  const serving = cells.filter(({ isLost }) => !isLost)
  return serving.reduce((sum, { summary }) => sum + (summary?.stuckSagas ?? 0), 0)
}

function lengthCheck(
  kind: 'feed' | 'queue',
  name: string,
  length: number,
  what: string,
): HealthCheck {
  return {
    kind,
    name,
    status: length > WAITING_MAX ? 'degraded' : 'ok',
    reason: `${length} ${what}`,
  }
}

/** The time of day of a cell's process against that of this gateway, by its last heartbeat. */
function cellClock({ cells }: HealthDeps, { id, name }: Cell): readonly HealthCheck[] {
  const heard = cells.heardOf(id)
  return heard === undefined
    ? []
    : [clockCheck(`cell ${name}`, heard.at - heard.receivedAt, 'this gateway')]
}

function releaseCheck(releases: readonly (readonly [string, string])[]): HealthCheck {
  const known = releases.filter(([, release]) => release !== '')
  const distinct = [...new Set(known.map(([, release]) => release))]
  const isOne = distinct.length < 2
  const reason = isOne
    ? `all programs run ${distinct[0] ?? 'an unknown release'}`
    : known.map(([name, release]) => `${name}: ${release}`).join(', ')
  return { kind: 'release', name: 'programs', status: isOne ? 'ok' : 'degraded', reason }
}

function failed(kind: HealthCheck['kind'], name: string, reason: string): HealthCheck {
  return { kind, name, status: 'failed', reason }
}
