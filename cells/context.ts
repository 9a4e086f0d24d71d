import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { NatsConnection } from '@nats-io/transport-node'
import { addressesIn } from '#common/addresses.ts'
import { type BusOptions, connectBus } from '#common/bus/connect.ts'
import { CredentialRenewer, renewAtGateway, renewWithSeed } from '#common/bus/keep-credential.ts'
import { servedTogether } from '#common/bus/serve.ts'
import { type Clock, systemClock } from '#common/clock.ts'
import { Database } from '#common/db/database.ts'
import { migrateDatabase } from '#common/db/migrate.ts'
import type { IsolatedRunner } from '#common/isolated/isolated-runner.ts'
import { createLogger, type Logger } from '#common/log.ts'
import { type Reconciler, RunningReconciler } from '#common/reconciler.ts'
import { SagaEngine } from '#common/saga/engine.ts'
import { secretsOf } from '#common/secrets.ts'
import type { MovedAddresses } from '#drivers/ovn/moved-addresses.ts'
import { busLeafUrl } from '#openapi/wire.ts'
import type { Cell } from './cell.ts'
import { Builds } from './conductor/builds.ts'
import type { Conductor } from './conductor/conductor.ts'
import { actSaga } from './conductor/sagas/act.ts'
import { bootSaga } from './conductor/sagas/boot.ts'
import { createVolumeSaga } from './conductor/sagas/create-volume.ts'
import { createVolumeSnapshotSaga } from './conductor/sagas/create-volume-snapshot.ts'
import { deleteSaga } from './conductor/sagas/delete.ts'
import { deleteVolumeSaga } from './conductor/sagas/delete-volume.ts'
import { deleteVolumeSnapshotSaga } from './conductor/sagas/delete-volume-snapshot.ts'
import { extendVolumeSaga } from './conductor/sagas/extend-volume.ts'
import { changeEncryptionSaga, migrateVolumeSaga } from './conductor/sagas/migrate-volume.ts'
import { moveSaga } from './conductor/sagas/move.ts'
import { reimageVolumeSaga } from './conductor/sagas/reimage-volume.ts'
import { revertVolumeSaga } from './conductor/sagas/revert-volume.ts'
import { uploadVolumeSaga } from './conductor/sagas/upload-volume.ts'
import type { CellConfig } from './config.ts'
import { beginFeed } from './db/feed.ts'
import { FeedRelay } from './feed/feed-relay.ts'
import { GatewayContact } from './hosts/gateway-contact.ts'
import { HostListener } from './hosts/host-listener.ts'
import { HostRegistry } from './hosts/host-registry.ts'
import { openImageCache } from './image-cache/open-image-cache.ts'
import { allocationAudit } from './reconcilers/allocation-audit.ts'
import { announceMoved } from './reconcilers/announce-moved.ts'
import { auditStores } from './reconcilers/audit-stores.ts'
import { fenceHosts } from './reconcilers/fence-hosts.ts'
import { heartbeat } from './reconcilers/heartbeat.ts'
import { hostLiveness } from './reconcilers/host-liveness.ts'
import { NetworkWriter } from './reconcilers/network.ts'
import { purge } from './reconcilers/purge.ts'
import { routeHosts } from './reconcilers/route-hosts.ts'
import { sagaRecovery } from './reconcilers/saga-recovery.ts'
import { sendContact } from './reconcilers/send-contact.ts'
import { tryFenceDevices } from './reconcilers/try-fence-devices.ts'
import {
  asksForImageProperties,
  asksForIoOps,
  schedulingFrom,
} from './scheduler/scheduling-from.ts'
import { serveCell } from './serve.ts'
import { KnownSites } from './site/known-sites.ts'
import { openUplink, type UplinkSettings } from './uplink.ts'

const MIGRATIONS = fileURLToPath(new URL('db/migrations', import.meta.url))

/** A cell process that serves. Disposing finishes what was begun and leaves the rest to the cell's other processes. */
export interface RunningCell extends AsyncDisposable {
  readonly cell: Cell
  readonly reconcilers: readonly RunningReconciler[]
  /** Undefined where none are served. */
  readonly metricsUrl: string | undefined
}

/**
 * Connects, migrates the database, resumes a predecessor's work, and serves until disposed. Work during which a process
 * ended is tried by `isolated`; without it, in this process.
 */
export async function startCell(
  config: CellConfig,
  clock: Clock = systemClock,
  isolated?: IsolatedRunner,
): Promise<RunningCell> {
  const { cellId, processName } = config
  const log = createLogger('cell', config.logLevel).child({
    cell: config.cellName,
    process: processName,
  })
  await migrateDatabase(config.databaseUrl, MIGRATIONS)
  await using owned = new AsyncDisposableStack()
  const measuring = await openMetrics(owned, config)
  const db = owned.use(openDatabase(config))
  const { incarnation } = await beginFeed(db)
  const sites = owned.use(await KnownSites.open({ db, log, cellId }))
  let relay: FeedRelay | undefined
  let listener: HostListener | undefined
  const onReconnect = () => {
    relay?.wake()
    listener?.forget()
  }
  const nats = await openBus(owned, config, { sites, clock, log }, onReconnect)
  const feedChanged = () => relay?.wake()
  let network: RunningReconciler | undefined
  let routing: RunningReconciler | undefined
  const networkChanged = () => {
    network?.wake()
    routing?.wake()
  }
  const registry = measuring?.registry
  const imageCache = await openImageCache(owned, config, { clock, log, registry })
  const conductor = await openConductor(config, {
    db,
    nats,
    clock,
    log,
    feedChanged,
    networkChanged,
    imageCaches: imageCache.caches,
  })
  const { hosts } = conductor
  const sagas = owned.use(await openSagas(conductor, processName, isolated))
  // Stopped first: the sagas it was given wait for it.
  if (isolated !== undefined) owned.use(isolated)
  const cell: Cell = { conductor, sagas, incarnation, processId: randomUUID(), sites }
  const holder = `${processName}-${randomUUID().slice(0, 8)}`
  relay = owned.use(new FeedRelay({ db, nats, clock, log, cellId, incarnation, holder }))
  const run = (each: Reconciler) => owned.use(new RunningReconciler(each, clock, log))
  const announce = (moved: MovedAddresses) => void announceMoved(conductor, moved)
  const writing = { ...conductor, db, holder, announce, wake: networkChanged }
  if (config.ovn !== undefined)
    network = run(owned.use(new NetworkWriter(config.ovn, writing)).reconciler())
  routing = run(routeHosts(cell, holder))
  const recovery = run(sagaRecovery(cell))
  const beat = run(heartbeat(cell, processName, () => recovery.wake()))
  sites.connect(nats, () => beat.wake())
  const reconcilers = [beat, recovery, routing, ...quietReconcilers(cell, holder, config).map(run)]
  listener = owned.use(new HostListener(cell, () => beat.wake()))
  owned.use(servedTogether(serveCell(cell)))
  const served = await measuring?.serve({ ...imageCache, cell, db, nats, config })
  log.info({ incarnation, hosts: hosts.all().length }, 'cell serves')
  const running = owned.move()
  return {
    cell,
    reconcilers,
    metricsUrl: served?.url,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

function openDatabase({
  databaseUrl: url,
  databaseConnectionsMax: connectionsMax,
  databaseRetryMs: retryMs,
}: CellConfig): Database {
  return new Database({ url, connectionsMax, retryMs })
}

/** Counts from now on, where metrics are served; loaded only there. */
async function openMetrics(owned: AsyncDisposableStack, config: CellConfig) {
  const { metrics: settings } = config
  if (settings === undefined) return undefined
  const { openCellMetrics, serveCellMetrics } = await import('./metrics/cell-metrics.ts')
  const { registry } = owned.use(openCellMetrics(config))
  return {
    registry,
    serve: async (parts: Parameters<typeof serveCellMetrics>[1]) =>
      owned.use(await serveCellMetrics(registry, parts, settings)),
  }
}

/** Every saga a process of a cell may have to take up from one that is gone. */
export const CELL_SAGAS = [
  bootSaga,
  deleteSaga,
  actSaga,
  moveSaga,
  createVolumeSaga,
  createVolumeSnapshotSaga,
  deleteVolumeSaga,
  deleteVolumeSnapshotSaga,
  extendVolumeSaga,
  uploadVolumeSaga,
  reimageVolumeSaga,
  revertVolumeSaga,
  migrateVolumeSaga,
  changeEncryptionSaga,
]

function openSagas(
  conductor: Conductor,
  processName: string,
  isolated: IsolatedRunner | undefined,
): Promise<SagaEngine<Conductor>> {
  const { db, clock, log } = conductor
  const engine = { db, deps: conductor, sagas: CELL_SAGAS, processName, clock, log }
  return SagaEngine.open<Conductor>(isolated === undefined ? engine : { ...engine, isolated })
}

/** What sagas of the cell are done with, here or in an isolated process: with the hosts as the database has them. */
export async function openConductor(
  config: CellConfig,
  parts: Pick<
    Conductor,
    'nats' | 'clock' | 'log' | 'feedChanged' | 'networkChanged' | 'imageCaches'
  > & {
    readonly db: Database
  },
): Promise<Conductor> {
  const { cellId, zone, ratios, storeRatio, stopGraceMs, hostTimeoutMs } = config
  const { db, clock } = parts
  const scheduling = schedulingFrom(config, Math.random)
  const countsIoOps = asksForIoOps(scheduling)
  const countsImageProperties = asksForImageProperties(scheduling)
  const counts = { countsIoOps, countsImageProperties }
  const hosts = new HostRegistry({ db, clock, downAfterMs: config.hostDownAfterMs, ...counts })
  await hosts.refresh()
  const secrets = secretsOf(config.secretKey)
  return {
    ...parts,
    cellId,
    zone,
    hosts,
    gateways: new GatewayContact(clock),
    builds: new Builds(secrets),
    secrets,
    scheduling,
    ratios,
    storeRatio,
    stopGraceMs,
    hostTimeoutMs,
    fenceAfterMs: 1_000 * config.fenceAfterS,
    portsUpTimeoutMs: config.ovn === undefined ? 0 : 1_000 * config.portsUpTimeoutS,
  }
}

interface UplinkParts {
  readonly uplink: UplinkSettings
  readonly sites: KnownSites
  readonly clock: Clock
  readonly log: Logger
}

async function openOwnUplink(owned: AsyncDisposableStack, parts: UplinkParts): Promise<void> {
  const { uplink, sites, log } = parts
  const keeper = renewUplink(owned, parts)
  const urls = () => sites.urls(addressesIn(uplink.url), busLeafUrl)
  owned.use(await openUplink({ ...uplink, urls }, log, () => keeper?.markRefused()))
}

/** Connects to the bus of the cell, and that to the gateways' where it is a leaf of theirs. */
async function openBus(
  owned: AsyncDisposableStack,
  config: CellConfig,
  parts: Omit<UplinkParts, 'uplink'>,
  onReconnect: () => void,
): Promise<NatsConnection> {
  const { uplink } = config
  if (uplink !== undefined) await openOwnUplink(owned, { ...parts, uplink })
  const nats = await connectBus(busOptions(config, onReconnect), parts.log)
  owned.defer(() => nats.close())
  return nats
}

/** The cell's bus reads the file whenever it dials, so a new credential needs no notice. */
function renewUplink(
  owned: AsyncDisposableStack,
  { uplink: { credential }, sites, clock, log }: UplinkParts,
): CredentialRenewer | undefined {
  if (credential === undefined) return undefined
  const known = addressesIn(credential.gatewayUrl)
  const renew = renewAtGateway(() => sites.urls(known, (url) => url))
  const keeper = new CredentialRenewer({ file: credential.file, renew, clock, log })
  owned.use(new RunningReconciler(keeper.reconciler(), clock, log))
  return keeper
}

/**
 * How a process of the cell connects to the bus. It renews its credential itself if the settings have the
 * account's seed.
 */
export function busOptions(config: CellConfig, onReconnect: () => void): BusOptions {
  const { natsUrl, natsCredentialsFile, natsAccountSeed, cellName, processName } = config
  const renew = natsAccountSeed === undefined ? undefined : renewWithSeed(natsAccountSeed)
  const name = `cell ${cellName} ${processName}`
  return { url: natsUrl, credentialsFile: natsCredentialsFile, renew, name, onReconnect }
}

/** Those that nothing wakes. */
function quietReconcilers(cell: Cell, holder: string, config: CellConfig): readonly Reconciler[] {
  return [
    cell.sites.reconciler(),
    sendContact(cell, config.fencing?.stopsItselfAfterMs !== undefined),
    hostLiveness(cell, holder),
    allocationAudit(cell, holder),
    auditStores(cell, holder),
    purge(cell, holder, config.retention),
    ...(config.fencing === undefined
      ? []
      : [fenceHosts(cell, holder, config.fencing), tryFenceDevices(cell, holder, config.fencing)]),
  ]
}
