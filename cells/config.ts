import { databaseUrls } from '#common/db/database-url.ts'
import { RETRY_MS } from '#common/db/retry.ts'
import { type Env, EnvReader, SettingsError } from '#common/env.ts'
import { type CellId, parseId } from '#common/ids.ts'
import { type MetricsSettings, readMetrics } from '#common/metrics/settings.ts'
import { SECRET_KEY } from '#common/secrets.ts'
import { type FencingSettings, readFencing } from './fencing/fence-devices.ts'
import { type ImageCacheSettings, readImageCache } from './image-cache/settings.ts'
import type { AllocationRatios } from './placement/ratios.ts'
import type { OvnSettings } from './reconcilers/network.ts'
import { type Retention, readRetention } from './retention.ts'
import type { FilterSettings } from './scheduler/filter.ts'
import { DEFAULT_FILTERS } from './scheduler/filters.ts'
import { SCHEDULING_POLICIES, type SchedulingPolicy } from './scheduler/policy.ts'
import type { WeigherSettings } from './scheduler/weigher.ts'
import { WEIGHERS } from './scheduler/weighers.ts'
import type { UplinkSettings } from './uplink.ts'
import { readWeigherSettings } from './weigher-settings.ts'

export interface CellConfig {
  readonly cellId: CellId
  readonly cellName: string
  /** Availability zone of hosts that name none. */
  readonly zone: string
  /** Stable over restarts, unique in the cell: a restarted process takes up its own unfinished work at once. */
  readonly processName: string
  readonly databaseUrl: string
  readonly databaseConnectionsMax: number
  /** How long work that had no effect is repeated while the database cannot serve. */
  readonly databaseRetryMs: number
  /** Hexadecimal; what the key of sealed secrets is derived from. The same for all processes of the cell. */
  readonly secretKey: string
  /** Of each server of the bus, with commas between them. */
  readonly natsUrl: string
  readonly natsCredentialsFile: string | undefined
  /** The account that signed the credential, with which it is renewed; undefined: another process renews it. */
  readonly natsAccountSeed: string | undefined
  /** Undefined where the cell is on its deployment's own bus. */
  readonly uplink: UplinkSettings | undefined
  readonly logLevel: string
  /** Of the services beside it, which it keeps within a size; absolute paths. */
  readonly serviceLogs: readonly string[]
  readonly ratios: AllocationRatios
  /** How many times stores promise their size to volumes. */
  readonly storeRatio: number
  readonly schedulingPolicy: SchedulingPolicy
  /** Names of filters, in the order they run. */
  readonly filters: readonly string[]
  readonly filterSettings: FilterSettings
  /** Name of weigher -> weight; 0 or absent: not used. */
  readonly weights: Readonly<Record<string, number>>
  readonly weigherSettings: WeigherSettings
  readonly hostDownAfterMs: number
  readonly hostTimeoutMs: number
  readonly stopGraceMs: number
  /** Hosts stop their guests once no gateway has been in touch for so long; 0: never. */
  readonly fenceAfterS: number
  /** Undefined where no host is fenced. */
  readonly fencing: FencingSettings | undefined
  readonly retention: Retention
  /** Undefined where the cell has no OVN: each host then has bridges of its own. */
  readonly ovn: OvnSettings | undefined
  /** How long a boot waits until its ports work in OVN; 0: it does not. */
  readonly portsUpTimeoutS: number
  readonly imageCache: ImageCacheSettings
  /** Where `/metrics` is served; undefined: nowhere. */
  readonly metrics: MetricsSettings | undefined
}

const FENCE_AFTER_S_MIN = 30
/** Nova's vif_plugging_timeout. */
const PORTS_UP_TIMEOUT_S = 300
const BUS_SCHEMES = ['nats', 'tls']
/** Where NATS usually takes leaf nodes. */
const UPLINK_PORT = 7_422

/** The wish of a group outweighs the sum of the usual weighers, and a failed build outweighs every wish, as in Nova. */
const WEIGHTS = {
  ram: 1,
  cpu: 1,
  disk: 1,
  instances: 0,
  soft_affinity: 10,
  soft_anti_affinity: 10,
  io_ops: 0,
  pci: 1,
  build_failure: 1_000_000,
  hypervisor_version: 1,
  metrics: 1,
  image_props: 0,
}

/** Reads the CELL_* variables; throws one error that names every problem. */
export function configFromEnv(env: Env): CellConfig {
  const read = new EnvReader(env, 'CELL_')
  const id = read.text('ID')
  const filters = read.list('SCHEDULING_FILTERS', DEFAULT_FILTERS)
  const weigherSettings = readWeigherSettings(read, filters)
  const fenceAfterS = read.integer('FENCE_AFTER_S', 0, 0)
  const config = {
    cellName: read.text('NAME'),
    zone: read.text('ZONE', 'nova'),
    processName: read.text('PROCESS'),
    databaseUrl: read.secretOf('DATABASE_URL', databaseUrls),
    databaseConnectionsMax: read.integer('DATABASE_CONNECTIONS_MAX', 16, 2, 500),
    databaseRetryMs: read.integer('DATABASE_RETRY_MS', RETRY_MS.usual, 0, RETRY_MS.max),
    secretKey: read.secret('SECRET_KEY'),
    natsUrl: read.urls('NATS_URL', BUS_SCHEMES),
    natsCredentialsFile: read.optionalText('NATS_CREDENTIALS_FILE'),
    natsAccountSeed: read.optionalSecret('NATS_ACCOUNT_SEED'),
    uplink: readUplink(read),
    serviceLogs: read.list('SERVICE_LOGS'),
    logLevel: read.choice('LOG_LEVEL', ['debug', 'info', 'warn', 'error'], 'info'),
    ratios: {
      vcpus: read.number('CPU_ALLOCATION_RATIO', 16),
      memoryMb: read.number('RAM_ALLOCATION_RATIO', 1.5),
      diskGb: read.number('DISK_ALLOCATION_RATIO', 1),
    },
    storeRatio: read.number('STORE_ALLOCATION_RATIO', 1),
    schedulingPolicy: read.choice('SCHEDULING_POLICY', SCHEDULING_POLICIES, 'filter'),
    filters,
    filterSettings: {
      maxInstancesPerHost: read.integer('MAX_INSTANCES_PER_HOST', 50, 1),
      maxIoOpsPerHost: read.integer('MAX_IO_OPS_PER_HOST', 8, 1),
      isolatedHosts: read.list('ISOLATED_HOSTS'),
      isolatedImages: read.list('ISOLATED_IMAGES'),
      areIsolatedHostsRestricted: read.boolean('RESTRICT_ISOLATED_HOSTS_TO_ISOLATED_IMAGES', true),
      imagePropertiesPrefix: imagePropertiesPrefixFrom(read),
      metrics: Object.keys(weigherSettings.metricWeights),
    },
    weights: weightsFrom(read),
    weigherSettings,
    // The former name works for one release more.
    hostDownAfterMs: read.integer(
      'HOST_DOWN_AFTER_MS',
      read.integer('HOST_SILENT_AFTER_MS', 5_000, 100),
      100,
    ),
    hostTimeoutMs: read.integer('HOST_TIMEOUT_MS', 10_000, 100),
    stopGraceMs: read.integer('STOP_GRACE_MS', 60_000),
    fenceAfterS,
    fencing: readFencing(read, fenceAfterS),
    retention: readRetention(read),
    metrics: readMetrics(read),
    ovn: readOvn(read),
    portsUpTimeoutS: read.integer('PORTS_UP_TIMEOUT_S', PORTS_UP_TIMEOUT_S),
    imageCache: readImageCache(read),
  }
  read.finish()
  if (!SECRET_KEY.test(config.secretKey))
    throw new SettingsError(['CELL_SECRET_KEY: 64 hexadecimal digits are needed'])
  if (config.fenceAfterS > 0 && config.fenceAfterS < FENCE_AFTER_S_MIN)
    throw new SettingsError([
      `CELL_FENCE_AFTER_S: 0, or at least ${FENCE_AFTER_S_MIN}: a gateway may be busy for seconds`,
    ])
  return { ...config, cellId: parseId<CellId>(id, 'CELL_ID') }
}

function readUplink(read: EnvReader): UplinkSettings | undefined {
  const url = read.optionalUrls('UPLINK_URL', ['wss', 'ws'])
  if (url === undefined) return undefined
  const port = read.integer('UPLINK_PORT', UPLINK_PORT, 1, 65_535)
  const file = read.optionalText('UPLINK_CREDENTIALS_FILE')
  if (file === undefined) return { url, port }
  return {
    url,
    port,
    credential: { file, gatewayUrl: read.urls('UPLINK_GATEWAY_URL', ['https', 'http']) },
  }
}

function readOvn(read: EnvReader): OvnSettings | undefined {
  const northbound = read.optionalText('OVN_NORTHBOUND')
  if (northbound === undefined) return undefined
  const southbound = read.text('OVN_SOUTHBOUND')
  const isEncrypted = [northbound, southbound].some((address) => /(?:^|,\s*)ssl:/.test(address))
  const caFile = isEncrypted ? read.text('OVN_CA_FILE') : read.optionalText('OVN_CA_FILE')
  if (caFile === undefined) return { northbound, southbound }
  const certificateFile = read.text('OVN_CERTIFICATE_FILE')
  const keyFile = read.text('OVN_KEY_FILE')
  return { northbound, southbound, tls: { caFile, certificateFile, keyFile } }
}

/** As in Nova, keys of the namespace are compared whole, with it. */
function imagePropertiesPrefixFrom(read: EnvReader): string {
  const namespace = read.optionalText('AGGREGATE_IMAGE_PROPERTIES_ISOLATION_NAMESPACE')
  const separator = read.text('AGGREGATE_IMAGE_PROPERTIES_ISOLATION_SEPARATOR', '.')
  return namespace === undefined ? '' : `${namespace}${separator}`
}

function weightsFrom(read: EnvReader): Readonly<Record<string, number>> {
  // Nova's CrossCellWeigher.
  read.refuse(
    'WEIGHT_CROSS_CELL_MOVE',
    'a cell chooses among its own hosts alone, and a server changes its cell only if that is asked for, so there is nothing to weigh: leave it out',
  )
  return Object.fromEntries(
    WEIGHERS.map(({ name }) => [
      name,
      read.number(`WEIGHT_${name.toUpperCase()}`, WEIGHTS[name as keyof typeof WEIGHTS]),
    ]),
  )
}
