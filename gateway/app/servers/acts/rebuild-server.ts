import { Failure } from '#common/errors.ts'
import type { InjectedFile } from '#openapi/wire/instance.ts'
import { findRequestSpec, type RequestSpec } from '../../../db/request-specs.ts'
import type { Compute } from '../../compute.ts'
import { imageForBoot } from '../../images/image-for-boot.ts'
import type { Images } from '../../images/images.ts'
import { keypairForBoot } from '../../keypairs/keypairs.ts'
import { canonicalIp } from '../../networks/ip.ts'
import type { RequestContext } from '../../request-context.ts'
import type { Rebuilt, Reimage } from '../../sagas/act-plan.ts'
import { type SealedPart, sealingPurpose } from '../../sagas/build-request.ts'
import type { Volume } from '../../volumes/volume.ts'
import type { BuildSpec } from '../boot/build-spec.ts'
import { rebuildUnplaced } from '../boot/rebuild-unplaced.ts'
import { refuseImageAgainstFlavor } from '../boot/refuse-image-against-flavor.ts'
import { limitFiles, sanitizeHostname } from '../boot/server-request.ts'
import { limitMetadata } from '../edit/limit-metadata.ts'
import type { ServerRecord } from '../list/server-record.ts'
import { showServer } from '../list/show-server.ts'
import { actOnServer } from './act-on-server.ts'
import { imageForRoot, rootToRebuild } from './image-for-root.ts'
import { refuseAction } from './refuse-action.ts'

/** Undefined fields stay as they are. */
export interface RebuildRequest {
  readonly imageRef: string
  readonly password: string
  readonly keepsEphemeral: boolean
  /** A volume that the server starts from gets the content of the image, whichever it has. */
  readonly reimages: boolean
  readonly name: string | undefined
  readonly hostname: string | undefined
  readonly description: string | null | undefined
  readonly metadata: Readonly<Record<string, string>> | undefined
  readonly diskConfig: 'AUTO' | 'MANUAL' | undefined
  readonly accessIPv4: string | undefined
  readonly accessIPv6: string | undefined
  /** Null: none any more. */
  readonly keyName: string | null | undefined
  /** Base64; null: none any more. */
  readonly userData: string | null | undefined
  /** Those the guest is given; none of before are kept. */
  readonly files: readonly InjectedFile[]
  /** Null: none any more. */
  readonly trustedCertificates: readonly string[] | null | undefined
}

/** The fields that a client sees changed at once, before the cell has reported the change. */
export interface AcceptedRebuild {
  readonly userData: string | null
  readonly shown: Rebuilt
}

/**
 * Afterwards the server's cell has accepted to make it again from the image, where it is, and the server shows that. One
 * that is in no cell, such as one whose cell was lost, is on its way to a cell. A volume that it starts from keeps its id. Throws
 * as `actOnServer`; `invalid` for an image or key it cannot have, and while something is done with one of its volumes;
 * `over-quota`.
 */
export async function rebuildServer(
  { compute, images }: { readonly compute: Compute; readonly images: Images },
  context: RequestContext,
  id: string,
  request: RebuildRequest,
): Promise<AcceptedRebuild> {
  const { db, secrets } = compute
  const server = await showServer(db, context, id)
  refuseAction(server, context, 'rebuild')
  const before = await findRequestSpec(db, server.id)
  if (before === undefined)
    throw new Failure('not-found', `Instance ${server.id} could not be found.`)
  await limitMetadata(db, server, request.metadata ?? {})
  await limitFiles(db, server, request.files)
  const rootVolume = await rootToRebuild(db, server)
  const of = { server, before, request, rootVolume }
  const { spec, shown, reimages } = await wanted({ compute, images }, context, of)
  const { files, keepsEphemeral, password } = request
  const userData = request.userData === undefined ? userDataOf(compute, before) : request.userData
  const seal = (text: string, what: SealedPart) =>
    secrets.seal(text, sealingPurpose(server.id, what))
  const sealedPassword = seal(password, 'password')
  const sealedUserData = userData === null ? null : seal(userData, 'user-data')
  const sealedFiles = files.length === 0 ? null : seal(JSON.stringify(files), 'files')
  const sealed = { spec, shown, sealedPassword, sealedUserData, sealedFiles }
  const keepsUserData = request.userData === undefined
  if (server.cellId === null) await rebuildUnplaced(compute, context, server, sealed)
  else
    await actOnServer(compute, context, id, {
      name: 'rebuild',
      plan: { kind: 'rebuild', keepsEphemeral, keepsUserData, ...sealed, ...reimages },
    })
  return { userData, shown }
}

function userDataOf({ secrets }: Compute, { serverId, sealedUserData }: RequestSpec) {
  if (sealedUserData === null) return null
  return secrets.open(sealedUserData, sealingPurpose(serverId, 'user-data'))
}

/** The act as the cell gets it, which has the whole server as it is now; and the part that the request changes. */
async function wanted(
  { compute, images }: { readonly compute: Compute; readonly images: Images },
  context: RequestContext,
  of: {
    readonly server: ServerRecord
    readonly before: RequestSpec
    readonly request: RebuildRequest
    readonly rootVolume: Volume | undefined
  },
): Promise<{
  readonly spec: BuildSpec
  readonly shown: Rebuilt
  readonly reimages: { readonly reimages?: Reimage }
}> {
  const { server, before, request, rootVolume } = of
  const { flavor } = server
  const { image, reimages } =
    rootVolume === undefined
      ? { image: await imageForBoot(images, context, request.imageRef, flavor), reimages: {} }
      : await imageForRoot(images, context, { server, request, rootVolume })
  refuseImageAgainstFlavor(image, flavor)
  const { keyName } = request
  const keypair =
    keyName === undefined
      ? before.spec.keypair
      : (keyName && (await keypairForBoot(compute.db, context, keyName))) || null
  const shown = {
    ...(rootVolume === undefined && { imageId: image.id }),
    ...shownAfter(server, request),
  }
  const {
    name,
    hostname,
    metadata,
    description,
    configDrive,
    diskConfig,
    accessIPv4,
    accessIPv6: v6,
  } = {
    ...server,
    ...shown,
  }
  const noted = { description, diskConfig, accessIPv4, accessIPv6: v6 }
  const remarks = { ...remarksAfter(server, before, request), ...noted }
  return {
    spec: {
      ...before.spec,
      name,
      hostname,
      metadata,
      flavor,
      image,
      keypair,
      configDrive,
      remarks,
      rebuiltAt: compute.clock.now(),
    },
    shown,
    reimages,
  }
}

/** The shown fields that the request sets. */
function shownAfter(server: ServerRecord, request: RebuildRequest): Rebuilt {
  const { accessIPv6 } = request
  return definedFields({
    name: request.name,
    hostname: request.hostname ?? hostnameOf(server, request),
    metadata: request.metadata,
    keyName: request.keyName,
    description: request.description,
    diskConfig: request.diskConfig,
    accessIPv4: request.accessIPv4,
    accessIPv6: accessIPv6 === undefined ? undefined : canonicalIp(accessIPv6, 'accessIPv6'),
    // The drive is the only way by which a file reaches a guest.
    configDrive: request.files.length > 0 ? true : undefined,
  })
}

/** The fields that the request set and no record of the server shows. */
function remarksAfter(
  server: ServerRecord,
  { spec }: RequestSpec,
  { trustedCertificates: asked }: RebuildRequest,
) {
  const { trustedCertificates: own, ...others } = spec.remarks ?? { hints: {} }
  const trusted = asked === undefined ? own : asked
  const certificates = trusted && { trustedCertificates: [...trusted] }
  return { tags: [...server.tags], ...others, ...certificates }
}

/** The same object without its undefined fields. */
function definedFields(fields: { [K in keyof Rebuilt]: Rebuilt[K] | undefined }): Rebuilt {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** A new name is one for the guest, too (nova/compute/api.py: `rebuild`). */
function hostnameOf(server: ServerRecord, { name }: RebuildRequest): string | undefined {
  return name === undefined ? undefined : sanitizeHostname(name) || server.hostname
}
