import type { NatsConnection } from '@nats-io/transport-node'
import type { Registry } from 'prom-client'
import { type BusOptions, connectBus } from '#common/bus/connect.ts'
import { renewWithSeed } from '#common/bus/keep-credential.ts'
import { FIRST_GENERATION, stampGeneration } from '#common/bus/site-generation.ts'
import { systemClock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import type { IsolatedRunner } from '#common/isolated/isolated-runner.ts'
import { createLogger, type Logger } from '#common/log.ts'
import { busMetrics } from '#common/metrics/bus-metrics.ts'
import { databaseMetrics } from '#common/metrics/database-metrics.ts'
import { expiryMetrics } from '#common/metrics/expiry-metrics.ts'
import { RunningReconciler } from '#common/reconciler.ts'
import { readRelease } from '#common/release.ts'
import { secretsOf } from '#common/secrets.ts'
import { CertificateWatch } from '#common/tls/certificate-watch.ts'
import { Admission } from './app/admission.ts'
import { AuditTrail } from './app/audit/audit-trail.ts'
import type { Consoles } from './app/consoles/consoles.ts'
import { ticketForCell } from './app/images/image-for-boot.ts'
import type { Images } from './app/images/images.ts'
import { ImportRunner } from './app/images/import/import-runner.ts'
import { openStore } from './app/images/store/open-store.ts'
import { ticketKey } from './app/images/ticket.ts'
import { UploadSlots } from './app/images/upload-slots.ts'
import { FreeAddresses } from './app/networks/free-addresses.ts'
import type { Networks } from './app/networks/list-networks.ts'
import { PortKeys } from './app/networks/tunnel-keys.ts'
import { type ComputeDepsOptions, openCompute, type RunningCompute } from './app/open-compute.ts'
import { Reach, type ReachWatch } from './app/reach.ts'
import { imageCollector } from './app/reconcilers/collect-images.ts'
import { failOverCells } from './app/reconcilers/fail-over-cells.ts'
import { RequestLimiter, RequestSlots } from './app/request-limiter.ts'
import { embeddedImages } from './app/servers/boot/embedded-images.ts'
import { embeddedNetwork } from './app/servers/boot/embedded-network.ts'
import { SiteWatch, type SiteWatchOptions } from './app/site/site-watch.ts'
import { CellAccess } from './cell-client/cell-access.ts'
import type { GatewayConfig } from './config.ts'
import { RefusalLog } from './http/refusal-log.ts'
import type { RequestSampling } from './http/request-trace.ts'
import { Rotation } from './http/rotation.ts'
import { type IsTrustedProxy, trustedProxies } from './http/trusted-proxies.ts'
import {
  type FederationMetrics,
  federationMetrics,
} from './metrics/federation/federation-metrics.ts'
import { createMetrics, type Metrics } from './metrics/gateway-metrics.ts'
import { observeAdmission } from './metrics/observe-admission.ts'
import { observeImageStore } from './metrics/observe-image-store.ts'
import { openAccess } from './open-access.ts'
import { openDatabase, watchReach } from './open-database.ts'
import { type EventReaders, openEventReaders } from './open-event-readers.ts'
import { type GatewayExchange, openExchange } from './open-exchange.ts'
import { type IdentityParts, openIdentity } from './open-identity.ts'
import type { ObserveS3 } from './s3/s3-client.ts'

/** Everything a gateway is made of, built once by hand. Several may live in one process. */
export interface Gateway
  extends GatewayExchange,
    IdentityParts,
    Pick<EventReaders, 'events' | 'webhooks'>,
    AsyncDisposable {
  readonly config: GatewayConfig
  readonly log: Logger
  readonly refusals: RefusalLog
  readonly metrics: Metrics
  readonly federationMetrics: FederationMetrics
  /** Of this software, as in package.json. */
  readonly version: string
  readonly db: Database
  readonly nats: NatsConnection
  readonly images: Images
  readonly networks: Networks
  readonly compute: RunningCompute
  readonly access: CellAccess
  /** Undefined where it serves no HTTPS. */
  readonly certificate: CertificateWatch | undefined
  readonly consoles: Consoles
  readonly audit: AuditTrail
  readonly isTrustedProxy: IsTrustedProxy
  readonly requestSampling: RequestSampling
  /** Undefined where projects may ask as often as they like. */
  readonly requestLimiter: RequestLimiter | undefined
  readonly requestSlots: RequestSlots
  readonly admission: Admission
  readonly reach: ReachWatch
  readonly rotation: Rotation
  /** Undefined where the site has no name, and is the only one. */
  readonly site: SiteWatch | undefined
}

/**
 * Afterwards every part runs; disposing it stops them in the reverse order. The database must be migrated. Work during
 * which a process ended is tried by `isolated`; without it, in this process. `generation`: that in which its site is active.
 */
export async function createGateway(
  config: GatewayConfig,
  isolated?: IsolatedRunner,
  generation = FIRST_GENERATION,
): Promise<Gateway> {
  await using parts = new AsyncDisposableStack()
  const log = createLogger('gateway', config.logLevel)
  const metrics = parts.use(createMetrics(config.processName))
  const db = parts.use(openDatabase(config, config.databaseConnections))
  const identity = openIdentity(parts, config, db, log)

  const images = await openImages(parts, config, { db, log, isolated, registry: metrics.registry })
  const networks = openNetworks(config, db)
  const access = await openAccess(parts, config, db, log)
  const { events, webhooks, onNumbered } = openEventReaders(parts, config, db, log)
  const reach = new Reach()
  const { nats, compute } = await openBus(parts, config, { log, generation }, (nats) =>
    openCompute({
      ...computeOptions(config, { db, nats, log, images, networks }),
      ...coreOptions(config),
      onNumbered,
      isolated,
      reach,
    }),
  )
  // Stopped first: those who have given it something wait for it.
  if (isolated !== undefined) parts.use(isolated)

  const audit = openAudit(parts, config, db, log)
  const admission = new Admission(config.admission, systemClock)
  const certificate = openCertificate(parts, config, log)
  observe(metrics, config, { db, nats, admission, certificate })
  const exchange = openExchange(parts, config, { db, nats, log, certificate, compute })
  const watch = watchReach(parts, config, { reach, db, nats, log, compute })
  const site = await openSite(parts, config, { db, log, compute, generation })
  openFailover(parts, config, { log, compute, access })

  const owned = parts.move()
  return {
    config,
    log,
    refusals: new RefusalLog(log),
    metrics,
    ...exchange,
    federationMetrics: federationMetrics(compute, config.externalIdentity === undefined),
    version: readRelease(),
    db,
    nats,
    ...identity,
    images,
    networks,
    compute,
    access,
    certificate,
    consoles: { ...compute, ...config.consoles, verifier: identity.verifier },
    events,
    webhooks,
    audit,
    isTrustedProxy: trustedProxies(config.trustedProxies),
    requestSampling: requestSampling(config),
    ...requestLimits(config),
    admission,
    reach: watch,
    rotation: new Rotation(watch, systemClock),
    site,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function coreOptions({ dueTimes, processName, retention }: GatewayConfig) {
  return { dueTimes, processName, retention }
}

function requestLimits(config: GatewayConfig) {
  return {
    requestLimiter: requestLimiter(config),
    requestSlots: new RequestSlots(config.requestsInProgressMax),
  }
}

function requestSampling({ trustedProxies: proxies, traces }: GatewayConfig): RequestSampling {
  return {
    isTrustedProxy: trustedProxies(proxies),
    isTrustedCaller: trustedProxies(traces.trustedCallers),
    ratio: traces.sampleRatio,
    chance: Math.random,
  }
}

/** Records that were left in its folder are written soon. */
function openAudit(
  parts: AsyncDisposableStack,
  { auditDirectory: directory }: GatewayConfig,
  db: Database,
  log: Logger,
): AuditTrail {
  const audit = parts.use(new AuditTrail({ db, clock: systemClock, log, directory }))
  const late = parts.use(new RunningReconciler(audit.reconciler(), systemClock, log))
  audit.whenLeft(() => late.wake())
  return audit
}

/** Afterwards cells that stay unreachable fail over as their operators say; where the bus revokes no credentials none does. */
function openFailover(
  parts: AsyncDisposableStack,
  { processName }: GatewayConfig,
  { log, compute, access }: Pick<Gateway, 'log' | 'compute' | 'access'>,
): void {
  if (!access.isThere) return
  const reconciler = failOverCells({ compute, access }, processName)
  parts.use(new RunningReconciler(reconciler, systemClock, log))
}

/** Undefined where the site has no name. */
async function openSite(
  parts: AsyncDisposableStack,
  { site: name, secretKey }: GatewayConfig,
  given: Pick<SiteWatchOptions, 'db' | 'log' | 'compute' | 'generation'>,
): Promise<SiteWatch | undefined> {
  if (name === undefined) return undefined
  const secrets = secretsOf(secretKey)
  return parts.use(await SiteWatch.open({ ...given, clock: systemClock, secrets, name }))
}

/** Afterwards the metrics have the parts of this gateway that are not counted but looked at. */
function observe(
  { registry }: Metrics,
  { natsCredentialsFile, natsOperator }: GatewayConfig,
  { db, nats, admission, certificate }: Pick<Gateway, 'db' | 'nats' | 'admission' | 'certificate'>,
): void {
  busMetrics(registry, nats)
  databaseMetrics(registry, db)
  observeAdmission(registry, admission)
  const credentialFiles = { bus: natsCredentialsFile, system: natsOperator?.systemCredentialsFile }
  expiryMetrics(registry, { certificates: { https: certificate }, credentialFiles })
}

interface ComputeParts {
  readonly db: Database
  readonly nats: NatsConnection
  readonly log: Logger
  readonly images: Images
  readonly networks: Networks
}

/** What sagas are done with, here or in an isolated process. */
export function computeOptions(
  config: GatewayConfig,
  { db, nats, log, images, networks }: ComputeParts,
): ComputeDepsOptions {
  const { reclaimIntervalS, forcesConfigDrive, schedulingPolicy, prices, cellDeadlineMs } = config
  return {
    db,
    nats,
    clock: systemClock,
    log,
    secrets: secretsOf(config.secretKey),
    network: embeddedNetwork(networks),
    imageTicket: (imageId, cellId) => ticketForCell(images, imageId, cellId),
    images: embeddedImages(images),
    ...{ reclaimIntervalS, forcesConfigDrive, schedulingPolicy, prices, cellDeadlineMs },
  }
}

export function openNetworks({ networkMtuMax: mtuMax }: GatewayConfig, db: Database): Networks {
  const freeAddresses = new FreeAddresses(systemClock)
  return { db, clock: systemClock, freeAddresses, portKeys: new PortKeys(), mtuMax }
}

function requestLimiter({
  projectRequestsPerMinute: perMinute,
}: GatewayConfig): RequestLimiter | undefined {
  return perMinute === 0 ? undefined : new RequestLimiter(systemClock, perMinute)
}

function openCertificate(
  parts: AsyncDisposableStack,
  { tls }: GatewayConfig,
  log: Logger,
): CertificateWatch | undefined {
  return tls === undefined ? undefined : parts.use(new CertificateWatch(tls, systemClock, log))
}

async function openImages(
  parts: AsyncDisposableStack,
  config: GatewayConfig,
  {
    db,
    log,
    isolated,
    registry,
  }: {
    readonly db: Database
    readonly log: Logger
    readonly isolated?: IsolatedRunner | undefined
    readonly registry: Registry
  },
): Promise<Images> {
  const observe = observeImageStore(registry)
  const images = await imagesOf(parts, config, db, () => imports.wake(), observe)
  parts.use(new RunningReconciler(imageCollector(images), systemClock, log))
  const runner = parts.use(new ImportRunner(images, log, isolated))
  const reconciler = runner.reconciler(() => imports.wake())
  const imports = parts.use(new RunningReconciler(reconciler, systemClock, log))
  return images
}

/** Images, and nothing at work on them; their store is closed with the parts. */
export async function imagesOf(
  parts: AsyncDisposableStack,
  config: GatewayConfig,
  db: Database,
  importsDue: () => void,
  observe?: ObserveS3,
): Promise<Images> {
  return {
    db,
    clock: systemClock,
    store: parts.use(await openStore(config, observe)),
    uploadSlots: new UploadSlots(config.imageUploads, systemClock),
    sizeMaxBytes: config.imageSizeMaxBytes,
    mayFormatsDiffer: config.imageFormatsUnchecked,
    limits: config.imageLimits,
    importRules: config.imageImport,
    importsDue,
    ticketKey: ticketKey(config.secretKey),
  }
}

/** Connects to the bus and opens on it what has to know when the bus was away. */
async function openBus(
  parts: AsyncDisposableStack,
  config: GatewayConfig,
  { log, generation }: { readonly log: Logger; readonly generation: number },
  open: (nats: NatsConnection) => Promise<RunningCompute>,
): Promise<{ readonly nats: NatsConnection; readonly compute: RunningCompute }> {
  let opened: RunningCompute | undefined
  const onReconnect = () => opened?.reconnected()
  const nats = await connectBus(busOptions(config, onReconnect), log)
  stampGeneration(nats, generation)
  parts.defer(() => nats.close())
  opened = parts.use(await open(nats))
  return { nats, compute: opened }
}

export function busOptions(config: GatewayConfig, onReconnect: () => void): BusOptions {
  const { natsUrl: url, natsCredentialsFile: credentialsFile, natsAccountSeed } = config
  const renew = natsAccountSeed === undefined ? undefined : renewWithSeed(natsAccountSeed)
  return { url, credentialsFile, renew, name: config.processName, onReconnect }
}
