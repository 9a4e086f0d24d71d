import { Failure } from '#common/errors.ts'

/** A version of an API, as `major.minor`; both are integers, so 2.10 comes after 2.9. */
export type Microversion = `${number}.${number}`

/** Every microversion of Nova's Compute API, oldest first, with what it changed for a client. */
export const HISTORY: readonly (readonly [version: Microversion, change: string])[] = [
  ['2.1', 'the v2.0 API with strict validation'],
  ['2.2', 'keypairs have a type; create answers 201 and delete 204'],
  ['2.3', 'servers show boot attributes; attached volumes show delete_on_termination'],
  ['2.4', 'fixed ips show whether they are reserved'],
  ['2.5', 'every user may filter servers by ip6'],
  ['2.6', 'remote-consoles replaces the console actions'],
  ['2.7', 'access cannot be granted to a public flavor'],
  ['2.8', 'mks remote consoles'],
  ['2.9', 'servers show whether they are locked'],
  ['2.10', 'administrators manage keypairs of other users'],
  ['2.11', 'services can be forced down'],
  ['2.12', 'virtual interfaces show their network'],
  ['2.13', 'server groups show project and user'],
  ['2.14', 'evacuate loses onSharedStorage and adminPass'],
  ['2.15', 'soft server group policies'],
  ['2.16', 'servers show the status of their host'],
  ['2.17', 'crash dumps can be triggered'],
  ['2.18', 'the project id in paths is optional'],
  ['2.19', 'servers have a description'],
  ['2.20', 'volumes attach to shelved servers'],
  ['2.21', 'actions of deleted servers are shown'],
  ['2.22', 'a live migration can be forced to complete'],
  ['2.23', 'migrations of a server can be listed and shown'],
  ['2.24', 'a live migration can be cancelled'],
  ['2.25', 'block_migration accepts auto; disk_over_commit is gone'],
  ['2.26', 'servers have tags'],
  ['2.27', 'the OpenStack-API-Version header is understood'],
  ['2.28', 'cpu_info of a hypervisor is an object'],
  ['2.29', 'evacuate checks the requested host unless forced'],
  ['2.30', 'live migration checks the requested host unless forced'],
  ['2.31', 'console tokens of every type can be looked up'],
  ['2.32', 'network interfaces and block devices can be tagged at boot'],
  ['2.33', 'hypervisors are paged; block device tags are lost'],
  ['2.34', 'live migration checks run in the background'],
  ['2.35', 'keypairs are paged'],
  ['2.36', 'proxies to other services and their quotas are gone'],
  ['2.37', 'networks must be given at boot and may be auto or none; interface tags are lost'],
  ['2.38', 'an unknown status filter is refused'],
  ['2.39', 'the image metadata proxy and its limit are gone'],
  ['2.40', 'tenant usage is paged'],
  ['2.41', 'aggregates show a uuid'],
  ['2.42', 'device tags return'],
  ['2.43', 'os-hosts is gone'],
  ['2.44', 'actions on fixed and floating ips are gone'],
  ['2.45', 'createImage and createBackup answer with the image id'],
  ['2.46', 'X-OpenStack-Request-ID is sent'],
  ['2.47', 'servers embed their flavor'],
  ['2.48', 'diagnostics have one shape'],
  ['2.49', 'interfaces and volumes can be tagged when attached'],
  ['2.50', 'quota classes show server groups and no network quotas'],
  ['2.51', 'instance actions show events to everyone; volume-extended event'],
  ['2.52', 'servers can be created with tags'],
  ['2.53', 'services and hypervisors are identified by uuid'],
  ['2.54', 'rebuild can change the key'],
  ['2.55', 'flavors have a description and can be updated'],
  ['2.56', 'cold migration accepts a host'],
  ['2.57', 'personality and its quotas are gone; rebuild accepts user data'],
  ['2.58', 'instance actions are paged and filtered by change'],
  ['2.59', 'migrations are paged and show a uuid'],
  ['2.60', 'a volume can be attached more than once'],
  ['2.61', 'flavors show their extra specs'],
  ['2.62', 'instance action events show their host'],
  ['2.63', 'trusted image certificates'],
  ['2.64', 'server groups have one policy with rules'],
  ['2.65', 'queued live migrations can be cancelled'],
  ['2.66', 'changes-before filter'],
  ['2.67', 'block devices choose a volume type'],
  ['2.68', 'forced live migration and evacuation are gone'],
  ['2.69', 'servers of unreachable cells may be shown in part'],
  ['2.70', 'attached interfaces and volumes show their tag'],
  ['2.71', 'servers show their server groups'],
  ['2.72', 'ports with a resource request can be used at boot'],
  ['2.73', 'locks have a reason; locked is a filter and a sort key'],
  ['2.74', 'a host or hypervisor can be requested at boot'],
  ['2.75', 'unknown parameters are refused; update and rebuild answer with the whole server'],
  ['2.76', 'power-update event'],
  ['2.77', 'unshelve accepts an availability zone'],
  ['2.78', 'NUMA topology of a server'],
  ['2.79', 'attaching a volume accepts delete_on_termination'],
  ['2.80', 'migrations show project and user'],
  ['2.81', 'images can be cached on an aggregate'],
  ['2.82', 'accelerator-request-bound event'],
  ['2.83', 'more server filters are open to every user'],
  ['2.84', 'instance action events show fault details'],
  ['2.85', 'delete_on_termination of an attached volume can be changed'],
  ['2.86', 'known extra specs are validated'],
  ['2.87', 'servers booted from a volume can be rescued'],
  ['2.88', 'hypervisors lose usage and gain uptime'],
  ['2.89', 'volume attachments show attachment and mapping ids'],
  ['2.90', 'the host name of a server can be chosen and is shown to everyone'],
  ['2.91', 'unshelve accepts a host and can unpin the zone'],
  ['2.92', 'keypairs are only imported; their names may contain @ and .'],
  ['2.93', 'servers booted from a volume can be rebuilt'],
  ['2.94', 'the host name may be fully qualified'],
  ['2.95', 'evacuated servers are stopped at the destination'],
  ['2.96', 'servers show their pinned availability zone'],
  ['2.97', 'file shares can be attached'],
  ['2.98', 'servers show the properties of their image'],
  ['2.99', 'spice-direct consoles'],
  ['2.100', 'servers show their scheduler hints'],
  ['2.101', 'attaching a volume answers 202'],
  ['2.102', 'flavors are filtered by name; every unknown query parameter is refused'],
  ['2.103', 'os-volumes_boot is gone'],
  ['2.104', 'the pinned availability zone can be changed'],
]

/** The oldest microversion served, and the one meant when a request names none. */
export const MIN: Microversion = '2.1'

/** The newest microversion advertised: every operation served is complete up to here. */
export const MAX: Microversion = '2.104'

const FORM = /^([1-9]\d{0,3})\.(0|[1-9]\d{0,3})$/

/** The microversion a request header names; throws `invalid` when it is malformed. */
export function parseMicroversion(text: string, latest: Microversion = MAX): Microversion {
  if (text === 'latest') return latest
  if (!FORM.test(text))
    throw new Failure('invalid', `API version '${text}' is malformed: it must be X.Y or latest.`)
  return text as Microversion
}

/** Negative when `a` is older than `b`, zero when they are the same. */
export function compareMicroversions(a: Microversion, b: Microversion): number {
  return ordinal(a) - ordinal(b)
}

/** True when this microversion is between MIN and MAX. */
export function isSupported(version: Microversion): boolean {
  return ordinal(version) >= ordinal(MIN) && ordinal(version) <= ordinal(MAX)
}

/** The microversions from MIN to MAX, oldest first. */
export function supportedMicroversions(): readonly Microversion[] {
  return HISTORY.map(([version]) => version).filter(isSupported)
}

const ORDINAL_BASE = 10_000

/** A number that orders microversions. */
export function ordinal(version: Microversion): number {
  const dot = version.indexOf('.')
  return Number(version.slice(0, dot)) * ORDINAL_BASE + Number(version.slice(dot + 1))
}
