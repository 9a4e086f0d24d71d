import type { NatsConnection } from '@nats-io/transport-node'
import type { Clock } from '#common/clock.ts'
import type { Transactional } from '#common/db/database.ts'
import type { IsolatedRunner } from '#common/isolated/isolated-runner.ts'
import { errorFields, type Logger } from '#common/log.ts'
import { type Reconciler, type ReconcilerStatus, RunningReconciler } from '#common/reconciler.ts'
import { SagaEngine } from '#common/saga/engine.ts'
import type { SagaRecord } from '#common/saga/log.ts'
import type { SagaOutcome } from '#common/saga/saga.ts'
import type { Secrets } from '#common/secrets.ts'
import { cellClient } from '../cell-client/client.ts'
import { hostClient } from '../cell-client/host-client.ts'
import { CellRegistry } from '../cell-client/registry.ts'
import { runningAmong } from '../db/running-operations.ts'
import { recordStuckEvent } from '../db/saga-operations.ts'
import type { CellPolicy } from './cells/cell-scores.ts'
import type { Compute, ComputeDeps } from './compute.ts'
import { numberNewEvents } from './events/number-events.ts'
import { throttle } from './events/throttle.ts'
import { Feeds } from './feed/feeds.ts'
import { watchCellSagas } from './operations/cell-sagas.ts'
import { OperationWatch } from './operations/operation-watch.ts'
import { type KnownPeer, Peers } from './peers.ts'
import { KnownPolicies } from './placement-policies/known-policies.ts'
import type { Retention } from './purge.ts'
import type { OthersReach, Reach } from './reach.ts'
import type { DueTimes } from './reconcilers/due-acts.ts'
import { purgeOld } from './reconcilers/purge-old.ts'
import { pushNetworks } from './reconcilers/push-networks.ts'
import { filterPorts, labelGuests, labelServers } from './reconcilers/push-to-hosts.ts'
import { quotaUsage } from './reconcilers/quota-usage.ts'
import { recordUsage } from './reconcilers/record-usage.ts'
import { byRow, type RowReconciler } from './reconcilers/row-reconciler.ts'
import { type RowReconcilers, rowReconcilers } from './reconcilers/row-reconcilers.ts'
import { settleLosses } from './reconcilers/settle-losses.ts'
import { syncAggregates } from './reconcilers/sync-aggregates.ts'
import { syncProviders } from './reconcilers/sync-providers.ts'
import { tidySnapshots } from './reconcilers/tidy-snapshots.ts'
import { unreachableCells } from './reconcilers/unreachable-cells.ts'
import { pollAfterCommits, watchWork } from './reconcilers/watch-work.ts'
import { noteChange } from './repeatable.ts'
import { COMPUTE_SAGAS } from './sagas/compute-sagas.ts'
import { RequestSpecCache } from './sagas/request-spec-cache.ts'
import { GroupJoins } from './server-groups/group-joins.ts'
import type { ServerImages } from './servers/boot/server-images.ts'
import type { ServerNetwork } from './servers/boot/server-network.ts'
import { takeOver } from './take-over.ts'
import type { Prices } from './usage/prices.ts'

/** What sagas are done with. */
export interface ComputeDepsOptions {
  readonly db: Transactional
  readonly nats: NatsConnection
  readonly clock: Clock
  readonly log: Logger
  readonly secrets: Secrets
  readonly network: ServerNetwork
  readonly imageTicket: ComputeDeps['imageTicket']
  readonly images: ServerImages
  readonly reclaimIntervalS: number
  readonly forcesConfigDrive: boolean
  readonly schedulingPolicy: CellPolicy
  readonly prices: Prices | undefined
  /** A cell without heartbeats for longer is unreachable; absent: the registry's default. */
  readonly cellDeadlineMs?: number
  /** From 0 to below 1; absent: chance. */
  readonly random?: () => number
}

export interface ComputeOptions extends ComputeDepsOptions {
  readonly dueTimes: DueTimes
  /** Stable over restarts of this gateway process, and no other's. */
  readonly processName: string
  /** Where sagas are tried that may have ended a process; absent: here. */
  readonly isolated?: Pick<IsolatedRunner, 'run'> | undefined
  readonly retention: Retention
  /** Called when there are events that can be read. */
  readonly onNumbered: () => void
  readonly reach: Reach
}

/** The compute core at work, until disposed. */
export interface RunningCompute extends Compute, AsyncDisposable {
  /** To be called when the bus is back. */
  reconnected(): void
  status(): readonly ReconcilerStatus[]
  /** The other gateways. */
  peers(): readonly KnownPeer[]
  readonly others: OthersReach
}

/** Afterwards this process receives heartbeats, applies feeds, and continues its own sagas and those of lost processes. */
export async function openCompute(options: ComputeOptions): Promise<RunningCompute> {
  const { db, nats, clock, log, processName, isolated, reach } = options
  await using parts = new AsyncDisposableStack()
  const deps = await openComputeDeps(parts, options)
  const operations = parts.use(openOperationWatch(options))
  const onEnded = (saga: SagaRecord, outcome: SagaOutcome) => {
    operations.notify(saga.id)
    if (outcome === 'stuck')
      void recordStuckEvent(db, saga).catch((error) =>
        log.warn(errorFields(error), 'event of a stuck saga not recorded'),
      )
  }
  const engine = {
    ...{ db, deps, sagas: COMPUTE_SAGAS, processName, clock, log, onEnded },
    ...(isolated && { isolated }),
  }
  const sagas = parts.use(await SagaEngine.open(engine))
  const compute: Compute = { ...deps, sagas, operations }
  const run = (each: Reconciler) => parts.use(new RunningReconciler(each, clock, log))
  const recovery = run({
    name: 'saga recovery',
    everyMs: RECOVER_MS,
    round: async () => ({ takenUp: await sagas.recover() }),
  })
  const byRows = <Row>(each: RowReconciler<Row>) => run(byRow(each, { ...compute, isolated }))
  const rows = rowReconcilers(compute, options)
  const retries = byRows(rows.retries)
  const others = [...byTime(rows, byRows), ...reconcilersOf(compute, options).map(run)]
  const numbering = run(numberNewEvents(compute, processName, options.onNumbered))
  const woken = wokenByWork(compute, rows, { run, byRows, numbering, recovery, processName })
  const toHosts = [filterPorts(compute), labelServers(compute), labelGuests(compute)].map(run)
  const push = throttle(() => wake(toHosts), { clock, ...PUSHED_AT_MOST })
  const networks = run(pushNetworks(compute, processName))
  const pushNetworksSoon = throttle(() => networks.wake(), { clock, ...NETWORKS_AT_MOST })
  parts.use(
    pollAfterCommits(options, () => {
      woken[0].wake()
      push()
      pushNetworksSoon()
    }),
  )
  const onApplied = throttle(() => numbering.wake(), { clock, ...NUMBERED_AT_MOST })
  const onNotBuilt = () => retries.wake()
  const feeds = parts.use(new Feeds({ deps, nats, reach, processName, onApplied, onNotBuilt }))
  const adoptWork = () => {
    feeds.wakeAll()
    wake([networks, numbering, ...woken])
  }
  const onAway = takeOver(db, adoptWork, () => recovery.wake())
  const incarnation = sagas.lease.holder
  const peers = parts.use(new Peers({ nats, clock, log, processName, incarnation, reach, onAway }))
  const owned = parts.move()
  return {
    ...compute,
    reconnected: () => feeds.reconnected(),
    peers: () => peers.known(),
    others: peers,
    status: () =>
      [recovery, retries, numbering, ...woken, ...toHosts, networks, ...others]
        .map((each) => each.status())
        .concat(feeds.status()),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function openOperationWatch({ db, nats, clock, log }: ComputeOptions): OperationWatch {
  const running = (ids: readonly string[]) => runningAmong(db, ids)
  return new OperationWatch({ running, nats, clock, log })
}

/** Afterwards this process receives heartbeats of cells, until `parts` are disposed of. */
export async function openComputeDeps(
  parts: AsyncDisposableStack,
  options: ComputeDepsOptions,
): Promise<ComputeDeps> {
  const { db, nats, clock, log, secrets, network, images, imageTicket } = options
  const { cellDeadlineMs: deadlineMs, random = Math.random } = options
  const registryOptions = { db, nats, clock, log }
  const cells = parts.use(
    await CellRegistry.open(
      deadlineMs === undefined ? registryOptions : { ...registryOptions, deadlineMs },
    ),
  )
  const placementPolicies = parts.use(await KnownPolicies.open({ db, clock, log }))
  const askCell = cellClient(nats, cells, noteChange)
  return {
    db,
    cells,
    placementPolicies,
    groupJoins: new GroupJoins(clock),
    askCell,
    askHost: hostClient(nats, noteChange),
    secrets,
    clock,
    log,
    random,
    imageTicket,
    network,
    images,
    specCache: new RequestSpecCache(),
    reclaimIntervalS: options.reclaimIntervalS,
    forcesConfigDrive: options.forcesConfigDrive,
    schedulingPolicy: options.schedulingPolicy,
    prices: options.prices,
  }
}

interface Runner {
  readonly run: (reconciler: Reconciler) => RunningReconciler
  readonly byRows: <Row>(reconciler: RowReconciler<Row>) => RunningReconciler
  readonly numbering: RunningReconciler
  readonly recovery: RunningReconciler
  readonly processName: string
}

function wake(reconcilers: readonly RunningReconciler[]): void {
  for (const each of reconcilers) each.wake()
}

/** What wakes reconcilers where there may be something for them, and then those. */
function wokenByWork(
  compute: Compute,
  rows: RowReconcilers,
  { run, byRows, numbering, recovery, processName }: Runner,
): readonly [RunningReconciler, ...RunningReconciler[]] {
  const intents = byRows(rows.intents)
  const resizes = byRows(rows.resizes)
  const kept = byRows(rows.kept)
  const snapshots = run(tidySnapshots(compute, processName))
  const acts = byRows(rows.acts)
  const drains = byRows(rows.drains)
  const moves = byRows(rows.moves)
  const recoveries = byRows(rows.recoveries)
  const volumes = byRows(rows.volumeDeletes)
  const volumeMoves = byRows(rows.volumeMoves)
  const restarts = byRows(rows.restarts)
  const watch = watchWork(compute, {
    events: () => wake([numbering]),
    intents: () => wake([intents]),
    resizes: () => wake([resizes, acts]),
    kept: () => wake([kept]),
    snapshots: () => wake([snapshots, acts]),
    operations: () => wake([drains, moves, recoveries]),
    volumes: () => wake([volumes, volumeMoves]),
    restarts: () => wake([restarts]),
    sagas: () => wake([recovery]),
  })
  const ofServers = [intents, resizes, kept, snapshots, acts, drains, moves, recoveries, restarts]
  return [run(watch), ...ofServers, volumes, volumeMoves]
}

/** Those by rows that nothing wakes. */
function byTime(rows: RowReconcilers, byRows: Runner['byRows']): readonly RunningReconciler[] {
  return [
    byRows(rows.deletes),
    byRows(rows.missing),
    byRows(rows.snapshotDeletes),
    byRows(rows.backups),
    byRows(rows.replicas),
    byRows(rows.fenced),
  ]
}

/** The others that nothing wakes. */
function reconcilersOf(
  compute: Compute,
  { processName, retention }: ComputeOptions,
): readonly Reconciler[] {
  return [
    settleLosses(compute, processName),
    watchCellSagas(compute, processName),
    quotaUsage(compute),
    recordUsage(compute),
    unreachableCells(compute),
    syncAggregates(compute),
    syncProviders(compute),
    purgeOld(compute, retention),
  ]
}

/** It is woken where there is something for it. */
const RECOVER_MS = 10_000
/** After commits. */
const PUSHED_AT_MOST = { everyMs: 2_000, burst: 1 } as const
/** Users see the effect of a rule on all hosts: soon, and no more often than is cheap. */
const NETWORKS_AT_MOST = { everyMs: 250, burst: 2 } as const
/** As often as without a wake-up, once there is much to do. */
const NUMBERED_AT_MOST = { everyMs: 200, burst: 5 } as const
