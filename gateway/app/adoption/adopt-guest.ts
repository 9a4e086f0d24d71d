import { isDuplicate } from '#common/db/failures.ts'
import { Failure } from '#common/errors.ts'
import type { InstanceId, ProjectId } from '#common/ids.ts'
import type { UnmanagedGuest } from '#openapi/wire/host.ts'
import { findServer } from '../../db/find-server.ts'
import type { HostRecord } from '../../db/host-list.ts'
import type { CreatedServers, IdempotencyKey } from '../../db/idempotency-keys.ts'
import { purgeDeletedServer } from '../../db/purges.ts'
import { explainPlacement } from '../federation/explain-placement.ts'
import { idOf } from '../federation/named.ts'
import { flavorForBoot } from '../flavors/flavors.ts'
import { findEarlierResult } from '../once-per-key.ts'
import type { RequestContext } from '../request-context.ts'
import type { Boot } from '../servers/boot/boot.ts'
import { HeldRoom } from '../servers/boot/held-room.ts'
import { planServers } from '../servers/boot/plan-servers.ts'
import type { ServerRequest } from '../servers/boot/server-request.ts'
import { startServers } from '../servers/boot/start-servers.ts'
import type { PlannedServer } from '../servers/list/server-order.ts'
import { listUnmanagedGuests } from './unmanaged-guests.ts'

/** What the server of a guest is to be. */
export interface Adoption {
  /** The guest's id, which the server has, too, or its name. */
  readonly guest: string
  /** Ids or names. */
  readonly project: string
  readonly flavor: string
  readonly image: string
  /** Absent: that of the guest. */
  readonly name?: string
}

type ProjectContext = RequestContext & { readonly projectId: ProjectId }

/**
 * Promises a server that is a guest which a host has already: the project is charged for it and its cell takes it in,
 * as if it had built it. Returns its id, which is the guest's, so that a guest is taken in once; of a server that had
 * the id before and is deleted, nothing is kept. Throws `not-found` for a guest that is not there or is somebody's,
 * `conflict` where it does not fit or there is such a server, `over-quota`. A repeat under the key returns the
 * first's answer.
 */
export async function adoptGuest(
  boot: Boot,
  context: RequestContext,
  host: HostRecord,
  adoption: Adoption,
  key: IdempotencyKey | null,
): Promise<string> {
  const { compute } = boot
  const { db } = compute
  const [before] = (await findEarlierResult<CreatedServers>(db, key))?.serverIds ?? []
  if (before !== undefined) return before
  const guests = await listUnmanagedGuests(compute, context, host)
  const guest = guestNamed(guests, adoption.guest, host.view.name)
  const former = await findServer(db, guest.id)
  if (former !== undefined && former.deletedAt === null) throw takenAlready(guest)
  const projectId = (await idOf(db, 'project', adoption.project)) as ProjectId
  const owner: ProjectContext = { ...context, projectId }
  const request = requestOf(guest, adoption, {
    host: host.view.name,
    flavorRef: await idOf(db, 'flavor', adoption.flavor),
    imageRef: await idOf(db, 'image', adoption.image),
  })
  await refuseMisfit(boot, owner, { host, guest, request })
  using room = new HeldRoom(compute)
  const planned = await planServers(boot, owner, request, { count: 1, room })
  const attempt = attemptAfter(former?.attempt ?? 0, compute.clock.now())
  const servers = planned.servers.map((server) => asGuest(server, guest.id as InstanceId, attempt))
  const order = {
    ...planned,
    servers,
    hints: {},
    userData: null,
    files: [],
    adminPassword: null,
    key,
  }
  if (former !== undefined) await purgeDeletedServer(db, guest.id)
  await startServers(compute, owner, order, room).catch((error: unknown) => {
    throw isDuplicate(error) ? takenAlready(guest) : error
  })
  return guest.id
}

/** Throws `not-found`, and `conflict` for a name that several have. */
function guestNamed(
  guests: readonly UnmanagedGuest[],
  named: string,
  host: string,
): UnmanagedGuest {
  const byId = guests.find(({ id }) => id === named)
  if (byId !== undefined) return byId
  const found = guests.filter(({ name }) => name === named)
  if (found.length > 1)
    throw new Failure(
      'conflict',
      `Host ${host} has several guests called ${named}: ${found.map(({ id }) => id).join(', ')}. Name one by its id.`,
    )
  if (found[0] !== undefined) return found[0]
  throw new Failure(
    'not-found',
    `Host ${host} has no unmanaged guest ${named}. See: ./weir host guests ${host}`,
  )
}

function takenAlready({ id }: UnmanagedGuest): Failure {
  return new Failure(
    'conflict',
    `There is a server ${id} already. If it is in ERROR, delete it and adopt the guest again.`,
  )
}

/**
 * Greater than any attempt of a server that had this id, of which its host may know longer than we do. The seconds of
 * the epoch are that, but for attempts that went from cell to cell within seconds.
 */
function attemptAfter(former: number, now: number): number {
  return Math.max(former + 1, Math.floor(now / 1_000))
}

function requestOf(
  guest: UnmanagedGuest,
  { name = guest.name }: Adoption,
  made: Pick<ServerRequest, 'flavorRef' | 'imageRef' | 'host'>,
): ServerRequest {
  return {
    ...made,
    name,
    metadata: guest.metadata ?? {},
    networks: 'none',
    securityGroups: [],
    keyName: null,
    userData: null,
    adminPassword: null,
    configDrive: false,
    availabilityZone: null,
    hypervisorHostname: null,
    hostname: null,
    description: null,
    tags: guest.tags ?? [],
    diskConfig: 'MANUAL',
    accessIPv4: null,
    accessIPv6: null,
    minCount: 1,
    maxCount: 1,
    disks: [],
    files: [],
    trustedCertificates: null,
    hints: {},
  }
}

interface Fit {
  readonly host: HostRecord
  readonly guest: UnmanagedGuest
  readonly request: ServerRequest
}

/** Refuses, before anything is written, a guest for which a boot would end in ERROR. */
async function refuseMisfit(
  boot: Boot,
  context: ProjectContext,
  { host, guest, request }: Fit,
): Promise<void> {
  const { flavorRef: flavor, imageRef } = request
  const { vcpus, memoryMb } = await flavorForBoot(boot.compute.db, context, flavor)
  const isOther = (guest.vcpus ?? vcpus) !== vcpus || (guest.memoryMb ?? memoryMb) !== memoryMb
  if (isOther)
    throw new Failure(
      'conflict',
      `The guest has ${guest.vcpus} vCPUs and ${guest.memoryMb} MiB of memory. Name a flavor of that size.`,
    )
  const question = { flavor, image: imageRef ?? '', zone: null, networks: undefined, hints: {} }
  const asked = { ...question, host: host.view.name, project: undefined }
  const { cell, decisions } = await explainPlacement(boot, context, asked)
  if (cell?.id === host.cellId) return
  const last = decisions
    .flatMap(({ trace }) => trace.filters)
    .findLast(({ refused }) => refused > 0)
  const [example] = last?.examples ?? []
  const why =
    example === undefined
      ? 'it has no room'
      : `${last?.name}: ${example.candidate} ${example.reason}`
  throw new Failure(
    'conflict',
    `Host ${host.view.name} cannot run a server of this flavor and image: ${why}.`,
  )
}

function asGuest(
  { row, spec, volumes, trace }: PlannedServer,
  id: InstanceId,
  attempt: number,
): PlannedServer {
  return { row: { ...row, id, attempt }, spec: { ...spec, adopts: true }, volumes, trace }
}
