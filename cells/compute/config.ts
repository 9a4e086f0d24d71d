import { networkInterfaces } from 'node:os'
import { type Env, EnvReader, SettingsError } from '#common/env.ts'
import { type CellId, type HostId, parseId } from '#common/ids.ts'
import { type MetricsSettings, readMetrics } from '#common/metrics/settings.ts'
import { DRIVER_NAMES, type DriverName } from '#drivers/driver.ts'
import type { HostOffer } from '#openapi/wire/host.ts'

export interface ComputeConfig {
  readonly cellId: CellId
  readonly hostId: HostId
  readonly hostName: string
  readonly hostAddress: string
  readonly zone: string | null
  readonly offer: HostOffer
  /** Of each server of the bus, or of each gateway that relays to it, with commas between them. */
  readonly natsUrl: string
  readonly natsCredentialsFile: string | undefined
  /** Of the account that signed the credential, with which it is renewed. */
  readonly natsAccountSeed: string | undefined
  /** The gateways that renew the credential, with commas between them; undefined: another process renews it. */
  readonly gatewayUrl: string | undefined
  /** Of the gateways' image services, in the order in which they are tried first. */
  readonly imageUrls: readonly string[]
  readonly stateDirectory: string
  readonly driver: DriverName
  /** Settings of the driver's own: `COMPUTE_DRIVER_<NAME>` as `<name>`. */
  readonly driverSettings: Readonly<Record<string, string>>
  readonly answerWithinMs: number
  readonly reportedGuestsMax: number
  readonly logLevel: string
  /** Where `/metrics` is served; undefined: nowhere. */
  readonly metrics: MetricsSettings | undefined
}

const BUS_SCHEMES = ['nats', 'tls', 'wss', 'ws']
const DRIVER_PREFIX = 'COMPUTE_DRIVER_'

/** Reads the COMPUTE_* variables; throws one error that names every problem. */
export function configFromEnv(env: Env): ComputeConfig {
  const driverSettings: Record<string, string> = {}
  const own: Record<string, string | undefined> = {}
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(DRIVER_PREFIX)) own[name] = value
    else if (value !== undefined)
      driverSettings[name.slice(DRIVER_PREFIX.length).toLowerCase()] = value
  }
  const read = new EnvReader(own, 'COMPUTE_')
  const config = {
    cellId: read.text('CELL_ID'),
    hostId: read.text('HOST_ID'),
    hostName: read.text('HOST_NAME'),
    hostAddress: read.text('HOST_ADDRESS', ownAddress()),
    zone: read.optionalText('ZONE') ?? null,
    offer: readOffer(read),
    natsUrl: read.urls('NATS_URL', BUS_SCHEMES),
    natsCredentialsFile: read.optionalText('NATS_CREDENTIALS_FILE'),
    natsAccountSeed: read.optionalSecret('NATS_ACCOUNT_SEED'),
    gatewayUrl: read.optionalUrls('GATEWAY_URL', ['https', 'http']),
    imageUrls: readImageUrls(read),
    stateDirectory: read.text('STATE_DIRECTORY'),
    driver: read.choice('DRIVER', DRIVER_NAMES),
    answerWithinMs: read.integer('ANSWER_WITHIN_MS', 5_000, 1),
    // Some 84 bytes each: they fit into the least that a bus takes, 1 MiB.
    reportedGuestsMax: read.integer('REPORTED_GUESTS_MAX', 10_000, 1),
    logLevel: read.choice('LOG_LEVEL', ['debug', 'info', 'warn', 'error'], 'info'),
    metrics: readMetrics(read),
  }
  read.finish()
  refuseWithoutEffect(config)
  return {
    ...config,
    cellId: parseId<CellId>(config.cellId, 'COMPUTE_CELL_ID'),
    hostId: parseId<HostId>(config.hostId, 'COMPUTE_HOST_ID'),
    driverSettings,
  }
}

const RATIO_MAX = 1_000_000
/** As in Nova, a ratio of 0 is none. */
const UNSET = 0

function readOffer(read: EnvReader): HostOffer {
  const reserved = {
    vcpus: read.integer('RESERVED_VCPUS', 0),
    memoryMb: read.integer('RESERVED_MEMORY_MB', 0),
    diskGb: read.integer('RESERVED_DISK_GB', 0),
  }
  const ratio = (name: string) => read.number(`${name}_ALLOCATION_RATIO`, UNSET, 0, RATIO_MAX)
  const ratios = { vcpus: ratio('CPU'), memoryMb: ratio('RAM'), diskGb: ratio('DISK') }
  const set = Object.entries(ratios).filter(([, value]) => value !== UNSET)
  return {
    ...(Object.values(reserved).some((amount) => amount > 0) && { reserved }),
    ...(set.length > 0 && { ratios: Object.fromEntries(set) }),
    ...(read.boolean('ENABLE_NUMA_REPORTING_TO_PLACEMENT', false) && { hasNumaProviders: true }),
  }
}

/** Their hosts offer whole machines. */
const MACHINE_DRIVERS: ReadonlySet<DriverName> = new Set(['baremetal', 'ironic'])

const NUMA_DRIVERS: ReadonlySet<DriverName> = new Set(['fake', 'libvirt'])

/** A whole machine has one server or none, and the amounts of another cloud are a quota. */
function refuseWithoutEffect({ driver, offer }: Pick<ComputeConfig, 'driver' | 'offer'>): void {
  const isOfMachines = MACHINE_DRIVERS.has(driver)
  const problems = [
    ...(isOfMachines && offer.reserved !== undefined
      ? [
          'COMPUTE_RESERVED_VCPUS, _MEMORY_MB and _DISK_GB have no effect on whole machines: unset them',
        ]
      : []),
    ...((isOfMachines || driver === 'nested') && offer.ratios !== undefined
      ? [
          `COMPUTE_CPU_, _RAM_ and _DISK_ALLOCATION_RATIO have no effect with the driver ${driver}, whose amounts are never promised twice: unset them`,
        ]
      : []),
    ...(offer.hasNumaProviders === true && !NUMA_DRIVERS.has(driver)
      ? [
          `COMPUTE_ENABLE_NUMA_REPORTING_TO_PLACEMENT has no effect with the driver ${driver}, whose hosts report no NUMA nodes: unset it`,
        ]
      : []),
  ]
  if (problems.length > 0) throw new SettingsError(problems)
}

/** At least one; each that is no URL is a problem. */
function readImageUrls(read: EnvReader): readonly string[] {
  const urls = read.list('IMAGE_URL')
  // Reported as missing.
  if (urls.length === 0) read.text('IMAGE_URL')
  const wrong = urls.find((url) => !/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
  if (wrong !== undefined)
    throw new SettingsError([`COMPUTE_IMAGE_URL: ${wrong} is not an http(s) URL`])
  return urls
}

/** The machine's first address that others can reach, of version 4 where there is one; else the loopback's. */
function ownAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const outward = addresses.filter(({ internal, scopeid = 0 }) => !internal && scopeid === 0)
  const own = outward.find(({ family }) => family === 'IPv4') ?? outward[0]
  return own?.address ?? '127.0.0.1'
}
