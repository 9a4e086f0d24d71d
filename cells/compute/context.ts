import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { NatsConnection } from '@nats-io/transport-node'
import { ask } from '#common/bus/ask.ts'
import { connectBus } from '#common/bus/connect.ts'
import { type Renew, renewAtGateway, renewWithSeed } from '#common/bus/keep-credential.ts'
import { servedTogether } from '#common/bus/serve.ts'
import { systemClock } from '#common/clock.ts'
import { workContext } from '#common/context.ts'
import { createLogger, type Logger } from '#common/log.ts'
import { RunningReconciler } from '#common/reconciler.ts'
import type { Driver, DriverEnvironment, ImageSource } from '#drivers/driver.ts'
import type { GuestMetadata } from '#drivers/guest-metadata.ts'
import { reportSubject } from '#openapi/wire.ts'
import type { Compute, Host, ImageFiller } from './compute.ts'
import type { ComputeConfig } from './config.ts'
import { Consoles, serveConsoles } from './consoles/consoles.ts'
import { Fence } from './fence.ts'
import { Attempts } from './guests/attempts.ts'
import { InstanceWorkQueue } from './guests/instance-work-queue.ts'
import { OperationMemory } from './guests/operation-memory.ts'
import { resumeGuests } from './guests/resume-guests.ts'
import { KeptDisks } from './kept-disks.ts'
import { MetadataService } from './metadata/metadata-service.ts'
import { MetadataStore } from './metadata/metadata-store.ts'
import { Reporter } from './reporter.ts'
import { serveHost } from './serve.ts'
import { serveLookups } from './serve-lookups.ts'
import { serveNodes } from './serve-nodes.ts'
import { tracedDriver } from './traced-driver.ts'

/** The parts of a compute besides its configuration. */
export interface ComputeParts {
  readonly createDriver: (environment: DriverEnvironment, log: Logger) => Promise<Driver>
  readonly images: ImageSource & ImageFiller
}

const CELL_TIMEOUT_MS = 5_000
const DAY_MS = 86_400_000
/** Deleted servers' rows live a month at most; what the host remembers must outlive them. */
const ATTEMPTS_RETENTION_MS = 60 * DAY_MS

/** A compute that serves its host. Disposing stops serving; guests run on. */
export interface RunningCompute extends AsyncDisposable {
  readonly driver: Driver
  /** Undefined where none are served. */
  readonly metricsUrl: string | undefined
  /** Makes the host look and report now. */
  report(): Promise<void>
}

async function openWorkQueue(
  owned: AsyncDisposableStack,
  stateDirectory: string,
  log: Logger,
): Promise<InstanceWorkQueue> {
  const file = join(stateDirectory, 'operations')
  const memory = owned.use(await OperationMemory.open({ file }))
  return owned.use(new InstanceWorkQueue(systemClock, memory, log))
}

function openBus(
  config: ComputeConfig,
  log: Logger,
  onReconnect: () => void,
): Promise<NatsConnection> {
  const { natsUrl: url, natsCredentialsFile: credentialsFile, hostId, hostName } = config
  // A host's credential may listen on no other inbox.
  const inboxPrefix = `_INBOX.${hostId}`
  const name = `compute ${hostName}`
  const renew = renewOf(config)
  return connectBus({ url, credentialsFile, renew, name, inboxPrefix, onReconnect }, log)
}

function renewOf({ natsAccountSeed, gatewayUrl }: ComputeConfig): Renew | undefined {
  if (natsAccountSeed !== undefined) return renewWithSeed(natsAccountSeed)
  return gatewayUrl === undefined ? undefined : renewAtGateway(gatewayUrl)
}

/** Connects, recovers what the driver finds running, and serves the host until disposed. */
export async function startCompute(
  config: ComputeConfig,
  parts: ComputeParts,
): Promise<RunningCompute> {
  const log = createLogger('compute', config.logLevel).child({ host: config.hostName })
  const { answerWithinMs, reportedGuestsMax, cellId, hostId } = config
  await using owned = new AsyncDisposableStack()
  await mkdir(config.stateDirectory, { recursive: true })
  const attempts = owned.use(await openAttempts(config))
  const environment = {
    owner: { cellId, hostId },
    stateDirectory: config.stateDirectory,
    images: parts.images,
  }
  const measuring = await openMetrics(owned, config)
  const plain = owned.use(await parts.createDriver(environment, log))
  const driver = tracedDriver(measuring?.driver(plain) ?? plain)
  const fenceFile = join(config.stateDirectory, 'fence')
  const fence = owned.use(await Fence.open({ file: fenceFile, driver, clock: systemClock, log }))
  const workQueue = await openWorkQueue(owned, config.stateDirectory, log)
  const metadata =
    driver.guestMetadata && (await MetadataStore.open(join(config.stateDirectory, 'metadata')))
  const consoles = new Consoles(driver, attempts, systemClock)
  const compute: Compute = {
    host: hostOf(config),
    driver,
    images: parts.images,
    keptDisks: keptDisks(config, parts.images, log),
    attempts,
    fence,
    workQueue,
    metadata,
    log,
    startedAt: systemClock.now(),
    answerWithinMs,
    reportedGuestsMax,
    lastInventory: null,
    lastReport: null,
  }
  let reporter: Reporter | undefined
  const nats = await openBus(config, log, () => {
    reporter?.forget()
    void reporter?.report()
  })
  owned.defer(() => nats.close())
  owned.use(
    servedTogether([
      ...serveHost(compute, nats),
      ...serveConsoles(compute, consoles, nats),
      ...serveNodes(compute, nats),
      ...serveLookups(compute, nats),
    ]),
  )
  if (driver.guestMetadata !== undefined && metadata !== undefined)
    owned.use(serveMetadata(compute, driver.guestMetadata, metadata, nats))
  const metrics = await measuring?.serve({ compute, nats, config })
  // Before those that serve: a question that waits for a guest to show something is answered at once.
  owned.use(consoles)
  reporter = owned.use(new Reporter(compute, nats, systemClock))
  startReconcilers(owned, compute, reporter)
  const running = owned.move()
  log.info({ driver: driver.name, simulated: driver.simulated }, 'compute serves')
  return {
    driver,
    metricsUrl: metrics?.url,
    report: () => reporter.report(),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

function openAttempts({ stateDirectory }: ComputeConfig): Promise<Attempts> {
  return Attempts.open({
    file: join(stateDirectory, 'attempts'),
    clock: systemClock,
    retentionMs: ATTEMPTS_RETENTION_MS,
  })
}

function keptDisks(
  { stateDirectory, hostId }: ComputeConfig,
  images: ImageFiller,
  log: Logger,
): KeptDisks {
  const folder = join(stateDirectory, 'kept-disks')
  return new KeptDisks({ folder, hostId, images, log, clock: systemClock })
}

/**
 * Afterwards disks go that no image has any more, and guests that wait for room in their stores go on when there is some, if
 * the driver tells them.
 */
function startReconcilers(owned: AsyncDisposableStack, compute: Compute, reporter: Reporter): void {
  const { log, driver } = compute
  owned.use(new RunningReconciler(compute.keptDisks.reconciler(), systemClock, log))
  if (driver.ioErrors === undefined) return
  const reconciler = resumeGuests(driver.ioErrors, log, () => reporter.report())
  owned.use(new RunningReconciler(reconciler, systemClock, log))
}

/** Counts from now on, where metrics are served; loaded only there, for a host that serves none need not hold it. */
async function openMetrics(owned: AsyncDisposableStack, config: ComputeConfig) {
  const { metrics: settings } = config
  if (settings === undefined) return undefined
  const { openComputeMetrics, serveComputeMetrics } = await import('./metrics/compute-metrics.ts')
  const { measuredDriver } = await import('./metrics/driver-metrics.ts')
  const { registry } = owned.use(openComputeMetrics(config))
  return {
    driver: (driver: Driver) => measuredDriver(driver, registry),
    serve: async (parts: Parameters<typeof serveComputeMetrics>[1]) =>
      owned.use(await serveComputeMetrics(registry, parts, settings)),
  }
}

/** What only the cell can do for it, the service asks over the bus. */
function serveMetadata(
  { host, log }: Compute,
  guests: GuestMetadata,
  store: MetadataStore,
  nats: NatsConnection,
): AsyncDisposable {
  const subject = reportSubject(host.cellId, host.id, 'guest-password')
  return new MetadataService({
    store,
    guests,
    log,
    clock: systemClock,
    reportPassword: async ({ id, attempt, password, labels: { passwordClears: clears } }) => {
      const payload = { hostId: host.id, serverId: id, attempt, password, clears }
      const question = { subject, payload, work: workContext({}), whom: 'The cell' }
      await ask(nats, { ...question, timeoutMs: CELL_TIMEOUT_MS })
    },
  })
}

function hostOf({ hostId, cellId, hostName, hostAddress, zone, offer }: ComputeConfig): Host {
  return { id: hostId, cellId, name: hostName, address: hostAddress, zone, offer }
}
