import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { withoutTrailing } from '#common/without-trailing.ts'
import { isOlder } from '../../api-version.ts'
import type { InstanceSpec } from '../../driver.ts'
import type { NestedHost } from '../host.ts'
import { markerKey, markerValue } from '../names.ts'
import type { ServerVolume } from '../volumes/attach.ts'
import type { ComputeVersions } from './compute-versions.ts'

/** The objects of the cloud from which a server is made, by its ids. */
export interface ServerParts {
  readonly flavorRef: string
  /** Undefined for a server that starts from one of its volumes. */
  readonly imageRef: string | undefined
  readonly portIds: readonly string[]
  readonly volumes: readonly ServerVolume[]
}

export interface CreateRequest {
  readonly body: object
  /** The lowest that carries the fields used. */
  readonly microversion: string
}

/** The microversions since which fields exist. */
const OLDEST = '2.1'
const NO_NETWORK_SINCE = '2.37'
const TAG_SINCE = '2.42'
const SHARED_SINCE = '2.60'
const TAGS_SINCE = '2.52'
const HOSTNAME_SINCE = '2.90'
/** Files are refused from then on (nova: personality). */
const FILES_UNTIL = '2.57'

/** The request that makes the server of an instance. Throws `unsupported` for settings that the cloud has no field for. */
export async function createRequest(
  host: Pick<NestedHost, 'owner' | 'settings' | 'versions' | 'keypairs' | 'records'>,
  spec: InstanceSpec,
  parts: ServerParts,
  signal: AbortSignal,
): Promise<CreateRequest> {
  const { owner, settings, keypairs } = host
  const { metadata, keypair, userData, adminPassword, files = [] } = spec.asked
  const needed = await versionsNeeded(host.versions, spec, parts, signal)
  const { tags = [] } = spec.remarks ?? {}
  const server = {
    name: spec.displayName,
    flavorRef: parts.flavorRef,
    ...(parts.imageRef === undefined ? {} : { imageRef: parts.imageRef }),
    ...disksOf(parts),
    networks: networksOf(spec, parts),
    metadata: { ...metadata, [markerKey(owner)]: markerValue(owner, spec.id) },
    ...(spec.configDrive === undefined ? {} : { config_drive: true }),
    ...(keypair === null ? {} : { key_name: keypairs.nameOf(keypair) }),
    ...(userData === null ? {} : { user_data: userData }),
    ...(files.length === 0 ? {} : { personality: files }),
    ...(adminPassword === null ? {} : { adminPass: adminPassword }),
    ...(settings.zone === undefined ? {} : { availability_zone: settings.zone }),
    ...(needed.includes(HOSTNAME_SINCE) ? { hostname: spec.hostname } : {}),
    ...remarksBody(spec),
    ...(tags.length === 0 ? {} : { tags }),
  }
  const hints = hintsOf(host.records, spec)
  const microversion = needed.reduce((a, b) => (isOlder(a, b) ? b : a), OLDEST)
  if (files.length > 0 && !isOlder(microversion, FILES_UNTIL))
    throw new Failure(
      'unsupported',
      `The nested cloud takes files (personality) only below microversion ${FILES_UNTIL}, and the host name of this server only since ${microversion}.`,
    )
  return {
    body: { server, ...(Object.keys(hints).length === 0 ? {} : { 'os:scheduler_hints': hints }) },
    microversion,
  }
}

function networksOf({ nics }: InstanceSpec, { portIds }: ServerParts): object | 'none' {
  if (portIds.length === 0) return 'none'
  return portIds.map((port, index) => {
    const tag = nics[index]?.tag
    return { port, ...(tag === undefined ? {} : { tag }) }
  })
}

/** A disk made from the image is named too once others are: clients of Nova do so. */
function disksOf({ imageRef, volumes }: ServerParts): object {
  if (volumes.length === 0) return {}
  const image = { source_type: 'image', destination_type: 'local', boot_index: 0 }
  const own = { ...image, uuid: imageRef, delete_on_termination: true }
  const disks = volumes.map(({ volume, attachment: { isRoot, tag } }) => ({
    ...{ uuid: volume.id, source_type: 'volume', destination_type: 'volume' },
    ...{ boot_index: isRoot === true ? 0 : -1, delete_on_termination: false },
    ...(tag === undefined ? {} : { tag }),
  }))
  return { block_device_mapping_v2: imageRef === undefined ? disks : [own, ...disks] }
}

/** Instances on other hosts are never near servers of this cloud, so the cloud needs no hints about them. */
function hintsOf(records: NestedHost['records'], { neighbours, remarks }: InstanceSpec): object {
  const below = (ids: readonly string[] = []) =>
    ids.flatMap((id) => records.get(id as InstanceId)?.serverId ?? [])
  const [same, different] = [below(neighbours?.same), below(neighbours?.different)]
  return {
    ...remarks?.hints,
    ...(same.length === 0 ? {} : { same_host: same }),
    ...(different.length === 0 ? {} : { different_host: different }),
  }
}

async function versionsNeeded(
  versions: ComputeVersions,
  spec: InstanceSpec,
  { volumes }: ServerParts,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const needed: string[] = []
  if (volumes.some(({ attachment }) => attachment.tag !== undefined))
    needed.push(await versions.need(TAG_SINCE, 'the tag of a volume', signal))
  if (volumes.some(({ volume }) => volume.multiattach))
    needed.push(await versions.need(SHARED_SINCE, 'a volume of a multiattach type', signal))
  if (spec.nics.length === 0)
    needed.push(await versions.need(NO_NETWORK_SINCE, 'a server without a network', signal))
  if (spec.nics.some(({ tag }) => tag !== undefined))
    needed.push(await versions.need(TAG_SINCE, 'the tag of a network interface', signal))
  needed.push(
    hasDescription(spec)
      ? await versions.need(DESCRIPTION_SINCE, 'a description', signal)
      : // Below this microversion, Nova describes a server by its name.
        ((await versions.ifServed(DESCRIPTION_SINCE, signal)) ?? OLDEST),
  )
  if ((spec.remarks?.tags.length ?? 0) > 0)
    needed.push(await versions.need(TAGS_SINCE, 'tags', signal))
  if (spec.remarks?.trustedCertificates !== undefined)
    needed.push(await versions.need(TRUSTED_SINCE, 'trusted certificates of images', signal))
  if (spec.hostname !== derivedHostname(spec.displayName))
    needed.push(await versions.need(HOSTNAME_SINCE, `the host name ${spec.hostname}`, signal))
  return needed
}

/** The host name that Nova gives a guest that was not given one: what of its server's name can be one. */
function derivedHostname(name: string): string {
  const text = name
    .toLowerCase()
    .replace(/[\s_.]+/g, '-')
    .replace(/[^a-z0-9-]/g, '')
    .replace(/^-+/, '')
    .slice(0, 63)
  return withoutTrailing(text, '-')
}

const DESCRIPTION_SINCE = '2.19'
export const TRUSTED_SINCE = '2.63'

/** Without one a server is described by its name until 2.19, and by nothing since. */
export function hasDescription({ remarks }: Pick<InstanceSpec, 'remarks'>): boolean {
  return (remarks?.description ?? null) !== null
}

/** The fields of a server that every create repeats. */
export function remarksBody({ remarks }: Pick<InstanceSpec, 'remarks'>): object {
  if (remarks === undefined) return {}
  const { description, diskConfig, accessIPv4, accessIPv6, trustedCertificates } = remarks
  return {
    'OS-DCF:diskConfig': diskConfig,
    ...(description === null ? {} : { description }),
    ...(accessIPv4 === null ? {} : { accessIPv4 }),
    ...(accessIPv6 === null ? {} : { accessIPv6 }),
    ...(trustedCertificates !== undefined && { trusted_image_certificates: trustedCertificates }),
  }
}
