import { Failure } from '#common/errors.ts'
import type { InstanceSpec, Rebuild, RebuildOptions } from '../driver.ts'
import { actOnServer } from './compute/act-on-server.ts'
import { isVolumeBacked } from './compute/cloud-server.ts'
import { hasDescription, remarksBody, TRUSTED_SINCE } from './compute/create-body.ts'
import { idleServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'
import { markerKey, markerValue } from './names.ts'
import { powerOff, powerOn } from './power.ts'
import { getVolume } from './volumes/cloud-volume.ts'

/** Since then user data can be changed, and files are refused. */
const USER_DATA_SINCE = '2.57'
const HOSTNAME_SINCE = '2.90'
const KEY_SINCE = '2.54'
/** A rebuild gives a volume from which the server starts new content since then, and leaves it as it is before. */
const REIMAGE_SINCE = '2.93'

export function nestedRebuild(host: NestedHost): Rebuild {
  return {
    rebuild: (spec, how, signal) =>
      host.locks.runPreemptible(spec.id, signal, (lockSignal) =>
        rebuild(host, spec, how, lockSignal),
      ),
  }
}

async function rebuild(
  host: NestedHost,
  spec: InstanceSpec,
  { keepsEphemeral, runs, reimages = false }: RebuildOptions,
  signal: AbortSignal,
): Promise<void> {
  const { keypairs, owner, records, versions } = host
  const { metadata, keypair, userData, adminPassword, files = [] } = spec.asked
  const server = await idleServer(host, spec.id, signal)
  const isReimaged = isVolumeBacked(server) && reimages
  const record = records.get(spec.id)
  const keyName = keypair === null ? null : keypairs.nameOf(keypair)
  if (keypair !== null) {
    if (record !== undefined) await records.write(spec.id, { ...record, keypair: keyName })
    await keypairs.ensure(keypair, signal)
  }
  // A rebuild with files changes no user data and no host name: the API that takes the one does not take the others.
  const hasFiles = files.length > 0
  const named = hasFiles ? undefined : await versions.ifServed(HOSTNAME_SINCE, signal)
  const isTrusting = spec.remarks?.trustedCertificates !== undefined
  if (hasFiles && isTrusting)
    throw new Failure(
      'unsupported',
      `The nested cloud takes files (personality) of a rebuild only below microversion ${USER_DATA_SINCE}, and trusted certificates only since ${TRUSTED_SINCE}.`,
    )
  if (hasFiles && isReimaged)
    throw new Failure(
      'unsupported',
      `The nested cloud takes files (personality) of a rebuild only below microversion ${USER_DATA_SINCE}, and gives a volume the content of an image only since ${REIMAGE_SINCE}.`,
    )
  const withoutFiles = isTrusting ? TRUSTED_SINCE : USER_DATA_SINCE
  const since = hasFiles ? KEY_SINCE : withoutFiles
  const microversion = isReimaged
    ? await versions.need(REIMAGE_SINCE, 'a rebuild of a server that starts from a volume', signal)
    : (named ?? (await versions.need(since, 'a rebuild', signal)))
  const keepsVolume = isVolumeBacked(server) && !reimages
  const body = {
    rebuild: {
      imageRef: await (keepsVolume
        ? imageOfRoot(host, spec, signal)
        : host.images.ensure(spec.image, signal)),
      name: spec.displayName,
      ...(named === undefined ? {} : { hostname: spec.hostname }),
      metadata: { ...metadata, [markerKey(owner)]: markerValue(owner, spec.id) },
      key_name: keyName,
      ...(hasFiles ? { personality: files } : { user_data: userData }),
      ...remarksBody(spec),
      ...(hasDescription(spec) ? {} : { description: null }),
      ...(keepsEphemeral ? { preserve_ephemeral: true } : {}),
      ...(adminPassword === null ? {} : { adminPass: adminPassword }),
    },
  }
  await actOnServer(host, server, { body, until: ['ACTIVE', 'SHUTOFF'], microversion }, signal)
  const rebuilt = await idleServer(host, spec.id, signal)
  await (runs ? powerOn : powerOff)(host, rebuilt, signal)
}

/** The image that the cloud says is that of the volume from which the server starts: a rebuild from it leaves the volume as it is. */
async function imageOfRoot(
  host: NestedHost,
  { id, volumes = [] }: InstanceSpec,
  signal: AbortSignal,
): Promise<string> {
  const root = volumes.find(({ isRoot }) => isRoot === true)
  const { volume_image_metadata: metadata = {} } =
    root === undefined ? {} : await getVolume(host, root, signal)
  const imageId = metadata['image_id']
  if (imageId !== undefined) return imageId
  throw new Failure(
    'unsupported',
    `The nested cloud does not say of which image the volume is that instance ${id} starts from, and rebuilds it only with that image, or at ${REIMAGE_SINCE} with new content.`,
  )
}
