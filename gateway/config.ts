import { join } from 'node:path'
import { CREDENTIAL_LIFETIME_S } from '#common/bus/credential.ts'
import { databaseUrls } from '#common/db/database-url.ts'
import { RETRY_MS } from '#common/db/retry.ts'
import { type Env, EnvReader, SettingsError } from '#common/env.ts'
import { SECRET_KEY } from '#common/secrets.ts'
import type { CertificateFiles } from '#common/tls/certificate.ts'
import type { AdmissionLimits } from './app/admission.ts'
import { CELL_POLICIES, type CellPolicy } from './app/cells/cell-scores.ts'
import type { ConsoleSettings } from './app/consoles/consoles.ts'
import type { Lockout } from './app/identity/login-throttle.ts'
import type { ImageLimits } from './app/images/image-quota.ts'
import type { ImportRules } from './app/images/import/import-url.ts'
import type { UploadLimits } from './app/images/upload-slots.ts'
import type { Retention } from './app/purge.ts'
import type { DueTimes } from './app/reconcilers/due-acts.ts'
import { type Prices, readPrices } from './app/usage/prices.ts'
import type { WebhookRules } from './app/webhooks/webhook-url.ts'
import { type ExternalIdentity, readExternalIdentity } from './external-identity.ts'
import { trustedProxies } from './http/trusted-proxies.ts'
import { assertImportRules, readImportRules } from './image-import.ts'
import {
  type NotificationSettings,
  readNotificationSettings,
} from './notifications/notification-settings.ts'
import { readRetention } from './retention.ts'
import { assertS3, readS3, type S3Settings } from './s3/s3-settings.ts'
import { readTraces, type TraceSettings } from './traces.ts'
import { assertWebhookRules, readWebhookRules } from './webhook-settings.ts'

const GATEWAY_PREFIX = 'GATEWAY_'

/** Everything an operator can set on a gateway. */
export interface GatewayConfig {
  readonly listenHost: string
  /** 0 takes any free port. */
  readonly port: number
  /** Where clients reach this deployment; without it, links follow the Host header. */
  readonly publicUrl: string | undefined
  /** Where cells and hosts elsewhere reach this deployment; without it, where links lead. */
  readonly joinUrl: string | undefined
  /** The HTTPS listener beside HTTP; undefined: none. */
  readonly tls: TlsListener | undefined
  /** Addresses and CIDR blocks whose X-Forwarded-* headers count. */
  readonly trustedProxies: readonly string[]
  readonly databaseUrl: string
  readonly databaseConnections: number
  /** How long work that had no effect is repeated while the database cannot serve. */
  readonly databaseRetryMs: number
  readonly region: string
  /** The name of this site, where the deployment has or may have several; undefined: it is the only one. */
  readonly site: string | undefined
  /** Undefined where users are kept here. */
  readonly externalIdentity: ExternalIdentity | undefined
  readonly tokenLifetimeS: number
  /** Of each user at each gateway; 0: as many as the user likes. */
  readonly userTokensPerMinute: number
  /** When an account is locked for failed logins; each process counts for itself. */
  readonly lockout: Lockout
  readonly logLevel: LogLevel
  /** Of the services beside it, which it keeps within a size; absolute paths. */
  readonly serviceLogs: readonly string[]
  /** With which monitoring reads `/metrics`; undefined: only operators do, with theirs. */
  readonly metricsToken: string | undefined
  /** The folder in which the gateway names itself to Prometheus; undefined: nowhere. */
  readonly metricsTargets: string | undefined
  readonly traces: TraceSettings
  /** Hexadecimal; what keys for tickets and sealed secrets are derived from. The same for all gateways. */
  readonly secretKey: string
  /** Where image contents are kept, shared by all gateways; empty where only an S3 has them. */
  readonly imageDirectory: string
  /** Has the contents instead of the directory; undefined: there is none. */
  readonly imageS3: S3Settings | undefined
  /** Where audit records are kept until the database has them; gateways may share it. */
  readonly auditDirectory: string
  readonly imageSizeMaxBytes: number
  readonly imageFormatsUnchecked: boolean
  readonly imageUploads: UploadLimits
  /** Of each project. */
  readonly imageLimits: ImageLimits
  readonly imageImport: ImportRules
  /** The largest frame that networks carry. */
  readonly networkMtuMax: number
  /** The name of this process among all gateways; the same after a restart, so that it continues its own work at once. */
  readonly processName: string
  /** Of each server of the bus, with commas between them. */
  readonly natsUrl: string
  readonly natsCredentialsFile: string | undefined
  /** Undefined where usage has no prices. */
  readonly prices: Prices | undefined
  /** The gateways' account, with which the credential is renewed; undefined: another process renews it. */
  readonly natsAccountSeed: string | undefined
  /** Where the servers of the bus take leaf nodes, with commas between them; undefined: cells elsewhere cannot reach it. */
  readonly natsLeafUrl: string | undefined
  /** The right to let cells in and to shut them out; undefined: this gateway cannot. */
  readonly natsOperator: NatsOperator | undefined
  readonly consoles: ConsoleSettings
  /** How many may watch events at a time. */
  readonly eventWatchersMax: number
  /** Of these, how many of one project. */
  readonly eventProjectWatchersMax: number
  readonly webhooks: WebhookRules
  /** Where Nova's notifications are sent; undefined: nowhere. */
  readonly notifications: NotificationSettings | undefined
  readonly retention: Retention
  /** A cell silent for longer is unreachable. */
  readonly cellDeadlineMs: number
  readonly dueTimes: DueTimes
  /** Of each project at each gateway; 0: as many as it likes. */
  readonly projectRequestsPerMinute: number
  /** That this gateway works on at a time. */
  readonly requestsInProgressMax: number
  /** Of these, how many of each kind. */
  readonly admission: AdmissionLimits
  /** How long what users delete can be restored; 0: not at all. */
  readonly reclaimIntervalS: number
  readonly forcesConfigDrive: boolean
  /** How cells are chosen for new servers. */
  readonly schedulingPolicy: CellPolicy
}

/** Where HTTPS is served, and with which certificate: renewed files are taken up while it runs. */
export interface TlsListener extends CertificateFiles {
  readonly host: string
  readonly port: number
}

/** Nkey seed of the bus's operator, a credential of its system account, and the seed that renews that. */
export interface NatsOperator {
  readonly seed: string
  readonly systemCredentialsFile: string
  /** Undefined: another process renews it. */
  readonly systemSeed: string | undefined
  /** How long a credential that this gateway signs for a cell or host is good, in seconds. */
  readonly credentialLifetimeS: number
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const PORT_MAX = 65_535
const SITE_NAME = /^[a-z0-9][a-z0-9-]{0,31}$/
const BUS_SCHEMES = ['nats', 'tls']
/** Programs check every ten minutes whether half of the lifetime has passed. */
const CREDENTIAL_LIFETIME = { usual: CREDENTIAL_LIFETIME_S, min: 3_600 } as const
const MTU = { usual: 1_500, min: 576, max: 65_535 } as const
/** 64 GiB. */
const IMAGE_SIZE_MAX_BYTES = 64 * 2 ** 30
const PROJECT_IMAGES_MAX = 1_000
/** 1 TiB. */
const PROJECT_IMAGE_BYTES_MAX = 2 ** 40
/** A thousand a second, several times what one gateway answers of writes: for those who ask without end. */
const PROJECT_REQUESTS_PER_MINUTE = 60_000
/** Ten a second: each is a row until it expires. */
const USER_TOKENS_PER_MINUTE = 600
const TOKEN_LIFETIME_S = { usual: 3_600, min: 60, max: 86_400 } as const

/** Reads GATEWAY_* variables; throws one plain Error that names every problem. */
export function configFromEnv(env: Env): GatewayConfig {
  const read = new EnvReader(env, GATEWAY_PREFIX)
  const { usual, min, max } = TOKEN_LIFETIME_S
  const config: GatewayConfig = {
    listenHost: read.text('LISTEN_HOST', '127.0.0.1'),
    port: read.integer('PORT', 8774, 0, PORT_MAX),
    publicUrl: read.optionalText('PUBLIC_URL'),
    joinUrl: read.optionalText('JOIN_URL'),
    tls: readTls(read),
    trustedProxies: read.list('TRUSTED_PROXIES'),
    databaseUrl: read.secretOf('DATABASE_URL', databaseUrls),
    databaseConnections: read.integer('DATABASE_CONNECTIONS', 16, 1, 1_000),
    databaseRetryMs: read.integer('DATABASE_RETRY_MS', RETRY_MS.usual, 0, RETRY_MS.max),
    region: read.text('REGION', 'RegionOne'),
    site: readSite(read),
    externalIdentity: readExternalIdentity(read),
    tokenLifetimeS: read.integer('TOKEN_LIFETIME_S', usual, min, max),
    userTokensPerMinute: read.integer('USER_TOKENS_PER_MINUTE', USER_TOKENS_PER_MINUTE, 0),
    lockout: {
      failuresMax: read.integer('LOGIN_FAILURES_MAX', 10, 1, 1_000),
      windowMs: 1_000 * read.integer('LOGIN_LOCKOUT_S', 60, 1, 86_400),
    },
    serviceLogs: read.list('SERVICE_LOGS'),
    logLevel: read.choice('LOG_LEVEL', LOG_LEVELS, 'info'),
    metricsToken: read.optionalSecret('METRICS_TOKEN'),
    metricsTargets: read.optionalText('METRICS_TARGETS'),
    traces: readTraces(read),
    secretKey: read.secret('SECRET_KEY'),
    ...readPlaces(read),
    ...readImages(read),
    networkMtuMax: read.integer('NETWORK_MTU_MAX', MTU.usual, MTU.min, MTU.max),
    processName: read.text('PROCESS'),
    ...readBus(read),
    prices: pricesOf(read.optionalText('PRICES_FILE')),
    consoles: {
      tokenLifetimeS: read.integer('CONSOLE_TOKEN_LIFETIME_S', 300, 10, 3_600),
      openMax: read.integer('CONSOLE_OPEN_MAX', 16, 1, 10_000),
    },
    eventWatchersMax: read.integer('EVENT_WATCHERS_MAX', 256, 0, 100_000),
    eventProjectWatchersMax: read.integer('EVENT_PROJECT_WATCHERS_MAX', 64, 1, 100_000),
    webhooks: readWebhookRules(read),
    notifications: readNotificationSettings(read),
    retention: readRetention(read),
    cellDeadlineMs: read.integer('CELL_DEADLINE_MS', 5_000, 100),
    dueTimes: readDueTimes(read),
    projectRequestsPerMinute: read.integer(
      'PROJECT_REQUESTS_PER_MINUTE',
      PROJECT_REQUESTS_PER_MINUTE,
      0,
    ),
    requestsInProgressMax: read.integer('REQUESTS_IN_PROGRESS_MAX', 1_000, 1),
    admission: readAdmission(read),
    ...readServers(read),
  }
  read.finish()
  trustedProxies(config.trustedProxies)
  trustedProxies(config.traces.trustedCallers)
  assertImportRules(config.imageImport)
  assertWebhookRules(config.webhooks)
  if (config.imageS3 !== undefined) assertS3(config.imageS3)
  if (!SECRET_KEY.test(config.secretKey))
    throw new SettingsError(['GATEWAY_SECRET_KEY: 64 hexadecimal digits are needed'])
  assertUrl('PUBLIC_URL', config.publicUrl)
  assertUrl('JOIN_URL', config.joinUrl)
  assertUrl('IDENTITY_URL', config.externalIdentity?.url)
  return config
}

function readServers(
  read: EnvReader,
): Pick<GatewayConfig, 'reclaimIntervalS' | 'forcesConfigDrive' | 'schedulingPolicy'> {
  return {
    reclaimIntervalS: read.integer('RECLAIM_INTERVAL_S', 0, 0),
    forcesConfigDrive: read.boolean('FORCE_CONFIG_DRIVE', false),
    schedulingPolicy: read.choice('SCHEDULING_POLICY', CELL_POLICIES, 'filter'),
  }
}

function readBus(
  read: EnvReader,
): Pick<
  GatewayConfig,
  'natsUrl' | 'natsCredentialsFile' | 'natsAccountSeed' | 'natsLeafUrl' | 'natsOperator'
> {
  return {
    natsUrl: read.urls('NATS_URL', BUS_SCHEMES),
    natsCredentialsFile: read.optionalText('NATS_CREDENTIALS_FILE'),
    natsAccountSeed: read.optionalSecret('NATS_ACCOUNT_SEED'),
    natsLeafUrl: read.optionalUrls('NATS_LEAF_URL', BUS_SCHEMES),
    natsOperator: readOperator(read),
  }
}

/** With an S3 only the audit needs a folder. */
function readPlaces(
  read: EnvReader,
): Pick<GatewayConfig, 'imageDirectory' | 'imageS3' | 'auditDirectory'> {
  const imageS3 = readS3(read)
  const imageDirectory = read.text('IMAGE_DIRECTORY', imageS3 && '')
  const beside = imageDirectory === '' ? undefined : join(imageDirectory, 'audit')
  return { imageS3, imageDirectory, auditDirectory: read.text('AUDIT_DIRECTORY', beside) }
}

function readImages(
  read: EnvReader,
): Pick<
  GatewayConfig,
  'imageSizeMaxBytes' | 'imageFormatsUnchecked' | 'imageLimits' | 'imageUploads' | 'imageImport'
> {
  return {
    imageSizeMaxBytes: read.integer('IMAGE_SIZE_MAX_BYTES', IMAGE_SIZE_MAX_BYTES, 1),
    imageFormatsUnchecked: read.boolean('IMAGE_FORMATS_UNCHECKED', false),
    imageLimits: {
      images: read.integer('IMAGE_PROJECT_COUNT_MAX', PROJECT_IMAGES_MAX, 0),
      bytes: read.integer('IMAGE_PROJECT_BYTES_MAX', PROJECT_IMAGE_BYTES_MAX, 0),
    },
    imageUploads: {
      max: read.integer('IMAGE_UPLOADS_MAX', 24, 1, 10_000),
      projectMax: read.integer('IMAGE_PROJECT_UPLOADS_MAX', 8, 1, 10_000),
    },
    imageImport: readImportRules(read),
  }
}

function readSite(read: EnvReader): string | undefined {
  const site = read.optionalText('SITE')
  if (site !== undefined && !SITE_NAME.test(site))
    throw new SettingsError([
      `GATEWAY_SITE: '${site}' is not a name of up to 32 small letters, digits and hyphens`,
    ])
  return site
}

function readAdmission(read: EnvReader): AdmissionLimits {
  return {
    list: read.integer('LISTS_IN_PROGRESS_MAX', 4, 1, 1_000),
    boot: read.integer('BOOTS_IN_PROGRESS_MAX', 32, 1, 1_000),
    read: read.integer('READS_IN_PROGRESS_MAX', 128, 1, 10_000),
    other: read.integer('CHANGES_IN_PROGRESS_MAX', 192, 1, 10_000),
  }
}

function readDueTimes(read: EnvReader): GatewayConfig['dueTimes'] {
  return {
    resizeConfirmWindowS: read.integer('RESIZE_CONFIRM_WINDOW_S', 0, 0),
    shelvedOffloadTimeS: read.integer('SHELVED_OFFLOAD_TIME_S', 0, -1),
  }
}

function pricesOf(file: string | undefined): Prices | undefined {
  return file === undefined ? undefined : readPrices(file)
}

function readTls(read: EnvReader): TlsListener | undefined {
  const certificateFile = read.optionalText('TLS_CERTIFICATE_FILE')
  if (certificateFile === undefined) return undefined
  return {
    certificateFile,
    keyFile: read.text('TLS_KEY_FILE'),
    host: read.text('TLS_LISTEN_HOST', '127.0.0.1'),
    port: read.integer('TLS_PORT', 8443, 0, PORT_MAX),
  }
}

function readOperator(read: EnvReader): NatsOperator | undefined {
  const seed = read.optionalSecret('NATS_OPERATOR_SEED')
  const { usual, min } = CREDENTIAL_LIFETIME
  const credentialLifetimeS = read.integer('BUS_CREDENTIAL_LIFETIME_S', usual, min)
  if (seed === undefined) return undefined
  return {
    seed,
    credentialLifetimeS,
    systemCredentialsFile: read.text('NATS_SYSTEM_CREDENTIALS_FILE'),
    systemSeed: read.optionalSecret('NATS_SYSTEM_SEED'),
  }
}

function assertUrl(name: string, text: string | undefined): void {
  if (text === undefined) return
  const url = URL.parse(text)
  const isPlain =
    url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
  if (!isPlain) throw new SettingsError([`GATEWAY_${name}: ${text} is not an http(s) URL`])
}
