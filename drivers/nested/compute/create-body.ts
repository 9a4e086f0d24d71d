import type { InstanceSpec } from '../../driver.ts'
import type { NestedHost } from '../host.ts'
import { markerKey, markerValue } from '../names.ts'
import type { ComputeVersions } from './compute-versions.ts'
import { isOlder } from './compute-versions.ts'
import { derivedHostname } from './derived-hostname.ts'

/** What of the cloud's own a server is made of, by its ids. */
export interface ServerParts {
  readonly flavorRef: string
  readonly imageRef: string
  readonly portIds: readonly string[]
}

export interface CreateRequest {
  readonly body: object
  /** The lowest that carries the fields used. */
  readonly microversion: string
}

/** A server without any network, and a name of its own for the guest: what they are said with, and since when. */
const NO_NETWORK_SINCE = '2.37'
const HOSTNAME_SINCE = '2.90'

/** The request that makes the server of an instance. Throws `unsupported` for what the cloud cannot be told. */
export async function createRequest(
  {
    owner,
    settings,
    versions,
    keypairs,
  }: Pick<NestedHost, 'owner' | 'settings' | 'versions' | 'keypairs'>,
  spec: InstanceSpec,
  parts: ServerParts,
  signal: AbortSignal,
): Promise<CreateRequest> {
  const { metadata, keypair, userData, adminPassword } = spec.asked
  const needed = await versionsNeeded(versions, spec, signal)
  const server = {
    name: spec.displayName,
    flavorRef: parts.flavorRef,
    imageRef: parts.imageRef,
    networks: parts.portIds.length === 0 ? 'none' : parts.portIds.map((port) => ({ port })),
    metadata: { ...metadata, [markerKey(owner)]: markerValue(owner, spec.id) },
    ...(spec.configDrive === undefined ? {} : { config_drive: true }),
    ...(keypair === null ? {} : { key_name: keypairs.nameOf(keypair) }),
    ...(userData === null ? {} : { user_data: userData }),
    ...(adminPassword === null ? {} : { adminPass: adminPassword }),
    ...(settings.zone === undefined ? {} : { availability_zone: settings.zone }),
    ...(needed.includes(HOSTNAME_SINCE) ? { hostname: spec.hostname } : {}),
  }
  const microversion = needed.reduce((a, b) => (isOlder(a, b) ? b : a), '2.1')
  return { body: { server }, microversion }
}

async function versionsNeeded(
  versions: ComputeVersions,
  spec: InstanceSpec,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const needed: string[] = []
  if (spec.nics.length === 0)
    needed.push(await versions.need(NO_NETWORK_SINCE, 'a server without a network', signal))
  if (spec.hostname !== derivedHostname(spec.displayName))
    needed.push(await versions.need(HOSTNAME_SINCE, `the host name ${spec.hostname}`, signal))
  return needed
}
