import ipaddr from 'ipaddr.js'
import { EnvReader, SettingsError } from '#common/env.ts'
import { type LoginSource, loginSource } from '../cloud-login.ts'
import { resourceAmounts } from '../resource-amounts.ts'

export interface NestedSettings {
  /** Keystone's, with or without `/v3`. */
  readonly authUrl: string
  readonly login: LoginSource
  /** Absent: the only one there is, or the first. */
  readonly region: string | undefined
  readonly interface: 'public' | 'internal' | 'admin'
  /** Address blocks that may be asked although they are not public. */
  readonly networks: readonly string[]
  /** Passwords and tokens may go over plain HTTP. */
  readonly allowsHttp: boolean
  /** Path of a PEM file. */
  readonly caFile: string | undefined
  /** Of our flavors, by name or id: the id of the one to use below. */
  readonly flavors: ReadonlyMap<string, string>
  /** Of our images, by id: the id of the one to use below. */
  readonly images: ReadonlyMap<string, string>
  /** A flavor of the size is made below where there is none and the login may. */
  readonly makesFlavors: boolean
  /** Of our networks, by id: the id of the one below that ports are made on; others are made. */
  readonly mappedNetworks: ReadonlyMap<string, string>
  /** By names of physical networks here, the external networks below; empty: all by their own names. */
  readonly externalNetworks: ReadonlyMap<string, string>
  /** Where servers are put below; absent: wherever. */
  readonly zone: string | undefined
  /** Of what this host may take in all; the cloud's own limits count too. */
  readonly vcpus: number
  readonly memoryMb: number
  readonly diskGb: number
  /** The most that its volumes take of each volume type of the cloud. */
  readonly volumeGb: number
  /** Volume types of the cloud, by id or name, of which volumes may be besides its default. */
  readonly volumeTypes: readonly string[]
  /** The amounts of further resource classes, such as `PCPU`, which a cloud does not report. */
  readonly resources: ReadonlyMap<string, number>
  /** The hypervisor type of the guests below, by Nova's name: images made for one type are sent only there. */
  readonly hypervisorType: string
  readonly architecture: string
  readonly imageFormats: readonly string[]
  /** Our projects whose servers may share the project below, by id; `any`: all. */
  readonly projects: readonly string[]
  readonly requestsPerSecond: number
  readonly requestTimeoutMs: number
  /** After this long a create whose answer was lost has either made its server or never will. */
  readonly createSettlesMs: number
  /** At least between two lists of servers, and at most while nothing is under way. */
  readonly pollMs: number
  readonly idlePollMs: number
  /** How many clouds deep a server may be. */
  readonly hopsMax: number
}

const SHARE_DEFAULT = { vcpus: 1_000, memoryMb: 4_194_304, diskGb: 100_000, volumeGb: 100_000 }
const TEN_MINUTES_MS = 600_000

/** Settings from plain text; throws one error that names every problem. */
export function nestedSettings(settings: Readonly<Record<string, string>>): NestedSettings {
  const reader = new EnvReader(settings, '')
  const read: NestedSettings = {
    authUrl: reader.text('auth_url'),
    login: loginSource(reader),
    region: reader.optionalText('region'),
    interface: reader.choice('interface', ['public', 'internal', 'admin'], 'public'),
    networks: reader.list('networks'),
    allowsHttp: reader.boolean('allow_http', false),
    caFile: reader.optionalText('ca_file'),
    flavors: mapOf(reader.list('flavors')),
    images: mapOf(reader.list('images')),
    makesFlavors: reader.boolean('make_flavors', false),
    mappedNetworks: mapOf(reader.list('mapped_networks')),
    externalNetworks: mapOf(reader.list('external_networks')),
    zone: reader.optionalText('zone'),
    vcpus: reader.integer('vcpus', SHARE_DEFAULT.vcpus, 1),
    memoryMb: reader.integer('memory_mb', SHARE_DEFAULT.memoryMb, 1),
    diskGb: reader.integer('disk_gb', SHARE_DEFAULT.diskGb, 1),
    volumeGb: reader.integer('volume_gb', SHARE_DEFAULT.volumeGb, 1),
    volumeTypes: reader.list('volume_types'),
    resources: resourceAmounts('resources', reader.list('resources')),
    hypervisorType: reader.text('hypervisor_type', 'QEMU'),
    architecture: reader.text('architecture', 'x86_64'),
    imageFormats: reader.list('image_formats', ['qcow2', 'raw']),
    projects: projectsOf(reader.text('projects')),
    requestsPerSecond: reader.integer('requests_per_second', 20, 1),
    requestTimeoutMs: reader.integer('request_timeout_ms', 60_000, 1),
    createSettlesMs: reader.integer('create_settles_ms', TEN_MINUTES_MS, 1),
    pollMs: reader.integer('poll_ms', 500, 1),
    idlePollMs: reader.integer('idle_poll_ms', 1_000, 1),
    hopsMax: reader.integer('hops_max', 4, 1),
  }
  reader.finish()
  read.login()
  refuseWrong(read)
  return read
}

function projectsOf(text: string): readonly string[] {
  return text.split(',').map((id) => id.trim())
}

/** From `ours=theirs` pairs. */
function mapOf(pairs: readonly string[]): ReadonlyMap<string, string> {
  return new Map(pairs.map((pair) => [pair.split('=')[0]!, pair.slice(pair.indexOf('=') + 1)]))
}

function refuseWrong({ networks }: NestedSettings): void {
  const wrong = networks.find((block) => !ipaddr.isValidCIDR(block))
  if (wrong !== undefined)
    throw new SettingsError([`networks: ${wrong} is no CIDR block, such as 10.0.0.0/8`])
}
