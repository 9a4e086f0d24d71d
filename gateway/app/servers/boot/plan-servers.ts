import { randomInt } from 'node:crypto'
import { type InstanceId, newId } from '#common/ids.ts'
import type { FlavorSnapshot, InstanceBuild } from '#openapi/wire/instance.ts'
import type { GroupRecord } from '../../../db/server-groups.ts'
import { groupApart } from '../../cells/cell-request.ts'
import type { CellChoice } from '../../cells/choose-cell.ts'
import { flavorForBoot } from '../../flavors/flavors.ts'
import { type BootImage, imageForBoot, refuseLittleMemory } from '../../images/image-for-boot.ts'
import { keypairForBoot } from '../../keypairs/keypairs.ts'
import { canonicalIp } from '../../networks/ip.ts'
import { appliedPolicy, policyHint } from '../../placement-policies/applied-policy.ts'
import { promiseOf } from '../../placement-policies/placement-promise.ts'
import { enforce } from '../../policy.ts'
import type { RequestContext } from '../../request-context.ts'
import { groupForBoot, ruleOf } from '../../server-groups/members.ts'
import { limitMetadata } from '../edit/limit-metadata.ts'
import { remarksOf } from '../edit/server-remarks.ts'
import type { PlannedServer, ServerOrder } from '../list/server-order.ts'
import type { Boot } from './boot.ts'
import { chooseFitting } from './choose-fitting.ts'
import { planEmbeddedNics } from './embedded-network.ts'
import { noValidHost } from './faults.ts'
import type { HeldRoom } from './held-room.ts'
import { cellHints, neighbourHints, refuseUnheededHints } from './hints.ts'
import { withMappedVolumes } from './image-mapping.ts'
import { plannedVolumes, planVolumes, type VolumesPlan } from './plan-volumes.ts'
import { refuseImageAgainstFlavor, refuseWithoutDisk } from './refuse-image-against-flavor.ts'
import { refuseBlankBeyond, refuseDisks } from './requested-disks.ts'
import { requestedVolumes } from './requested-volumes.ts'
import { cellsForPlace, type Place, placeOf, refuseUnknownHost } from './server-place.ts'
import { limitFiles, type ServerRequest, serverName } from './server-request.ts'

/** What all servers of a request have in common. */
interface Common {
  readonly projectId: string
  readonly userId: string
  readonly request: ServerRequest
  readonly flavor: FlavorSnapshot
  readonly image: BootImage
  readonly volumes: VolumesPlan | undefined
  readonly keypair: InstanceBuild['keypair']
  readonly place: Place
  readonly securityGroups: readonly string[]
  readonly needsFirewall: boolean
  readonly reservationId: string
  readonly group: GroupRecord | null
  readonly neighbours: Awaited<ReturnType<typeof neighbourHints>>
  readonly cellHints: ReturnType<typeof cellHints>
  readonly policyHint: string | undefined
  readonly forcesConfigDrive: boolean
}

const RESERVATION_CHARS = 'abcdefghijklmnopqrstuvwxyz0123456789'
const RESERVATION_LENGTH = 8

/**
 * Decides everything about `count` servers of a request, or about those that cells have hosts for, and writes nothing;
 * `room` then has what they take. Throws what Nova answers for what cannot be had: `invalid`, `forbidden`, `over-quota`,
 * `conflict`; `unavailable` while every cell is unreachable.
 */
export async function planServers(
  boot: Boot,
  context: RequestContext & { readonly projectId: string },
  request: ServerRequest,
  { count, room }: { readonly count: number; readonly room: HeldRoom },
): Promise<Pick<ServerOrder, 'servers' | 'nics' | 'group' | 'promise'>> {
  const { compute, networks } = boot
  const { db } = compute
  const cells = await cellsForPlace(db, compute.cells.cells(), request.availabilityZone)
  const place = placeOf(request, cells, (rule) => enforce(context, rule))
  await refuseUnknownHost(db, place)
  refuseUnheededHints(request.hints, cells)
  const flavor = await flavorForBoot(db, context, request.flavorRef)
  refuseBlankBeyond(request.disks, flavor)
  const { image, volumes } = await planDisks(boot, context, { request, flavor, zone: place.zone })
  const keypair =
    request.keyName === null ? null : await keypairForBoot(db, context, request.keyName)
  await limitMetadata(db, context, request.metadata)
  await limitFiles(db, context, request.files)
  const nics = await planEmbeddedNics(networks, context, {
    networks: request.networks,
    securityGroups: request.securityGroups,
    serversMax: count,
  })
  const group = await groupForBoot(db, context, request.hints['group'])
  const { zone, host: requestedHost } = place
  const neighbours = await neighbourHints(db, context, request.hints)
  const { sameHost } = neighbours
  const where = { flavor, image, zone, requestedHost, networks: nics.networks, volumes }
  const named = cellHints(request.hints, (rule) => enforce(context, rule))
  const policies = compute.placementPolicies.all()
  const hint = policyHint(policies, request.hints)
  const { projectId, userId } = context
  const policy = appliedPolicy(policies, { projectId, flavorId: flavor.id, hint })
  const { hints, minCount } = request
  const rule = group === null ? {} : { group: ruleOf(group) }
  const apart = groupApart(rule.group)
  const required = { ...where, group, apart, sameHost, cellHints: named, hints, policy }
  const { securityGroups, needsFirewall } = nics
  const about = { projectId, ...neighbours, ...rule, ...(needsFirewall && { needsFirewall }) }
  const wanted = { required, about, minCount, count, room }
  const choices = await chooseFitting(compute, db, wanted, context)
  const reservationId = newReservationId()
  const common = {
    ...{ projectId, userId, request, flavor, image, volumes, keypair, place, group, neighbours },
    ...{ securityGroups, needsFirewall, reservationId, cellHints: named, policyHint: hint },
    forcesConfigDrive: compute.forcesConfigDrive,
  }
  const now = compute.clock.now()
  return {
    nics,
    promise: promiseOf(choices),
    group,
    servers: choices.map((choice, index) =>
      plan(common, choice, index, { count: choices.length, now }),
    ),
  }
}

/** The image and the volumes that the servers get, and that the flavor allows. */
async function planDisks(
  boot: Boot,
  context: RequestContext & { readonly projectId: string },
  of: {
    readonly request: ServerRequest
    readonly flavor: FlavorSnapshot
    readonly zone: string | null
  },
): Promise<Pick<Common, 'image' | 'volumes'>> {
  const { request, flavor, zone } = of
  const volumes = await planVolumes(boot, context, requestedVolumes(request), zone)
  const ofVolume = volumes?.image ?? null
  const image =
    ofVolume ?? (await imageForBoot(boot.images, context, request.imageRef ?? '', flavor))
  const mapped = ofVolume === null ? withMappedVolumes(request, image) : undefined
  if (mapped !== undefined) {
    refuseDisks(mapped)
    return planDisks(boot, context, { request: mapped, flavor, zone })
  }
  refuseImageAgainstFlavor(image, flavor)
  if (ofVolume === null) refuseWithoutDisk(flavor, context)
  else refuseLittleMemory(image, flavor)
  return { image, volumes }
}

/** True if the user or the image asks for one. The drive is the only way by which a file reaches a guest. */
function hasConfigDrive(
  { configDrive, files }: Common['request'],
  { properties }: Common['image'],
): boolean {
  return configDrive || files.length > 0 || properties['img_config_drive'] === 'mandatory'
}

function newReservationId(): string {
  const chars = Array.from(
    { length: RESERVATION_LENGTH },
    () => RESERVATION_CHARS[randomInt(RESERVATION_CHARS.length)],
  )
  return `r-${chars.join('')}`
}

function plan(
  common: Common,
  choice: CellChoice,
  launchIndex: number,
  { count, now }: { readonly count: number; readonly now: number },
): PlannedServer {
  const { request, projectId, userId, flavor, image, keypair, place, reservationId } = common
  const id = newId<InstanceId>()
  const { name, hostname } = serverName(request, id, launchIndex, count)
  const isPlaced = choice.chosen !== undefined
  const { metadata, tags, diskConfig, accessIPv4, accessIPv6 } = request
  const volumes = plannedVolumes(common.volumes)
  const configDrive = common.forcesConfigDrive || hasConfigDrive(request, image)
  const canonicalIPv6 = accessIPv6 && canonicalIp(accessIPv6, 'accessIPv6')
  return {
    row: {
      id,
      projectId,
      userId,
      cellId: choice.chosen?.id ?? null,
      attempt: 1,
      name,
      hostname,
      description: request.description,
      metadata,
      tags,
      flavor,
      imageId: common.volumes?.image ? null : image.id,
      keyName: request.keyName,
      configDrive,
      securityGroups: common.securityGroups,
      reservationId,
      launchIndex,
      diskConfig,
      requestedZone: place.zone,
      accessIPv4,
      accessIPv6: canonicalIPv6,
      vmState: isPlaced ? 'building' : 'error',
      taskState: isPlaced ? 'scheduling' : null,
      fault: isPlaced ? null : noValidHost(now, choice.trace),
    },
    spec: {
      projectId,
      userId,
      name,
      hostname,
      metadata,
      flavor,
      image,
      keypair,
      configDrive,
      zone: place.zone,
      requestedHost: place.host,
      launchIndex,
      reservationId,
      ...(common.group !== null && { group: ruleOf(common.group) }),
      ...common.neighbours,
      ...common.cellHints,
      ...(common.policyHint !== undefined && { policyHint: common.policyHint }),
      ...(common.needsFirewall && { needsFirewall: true }),
      ...(volumes.length > 0 && { volumes: volumes.map(({ build }) => build) }),
      remarks: { ...remarksOf(request), accessIPv6: canonicalIPv6 },
    },
    volumes,
    trace: choice.trace,
  }
}
