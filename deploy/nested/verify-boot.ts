import { Failure } from '#common/errors.ts'
import { waitFor } from '#common/wait-for.ts'
import { type Finding, finding } from '#drivers/nested/verify/finding.ts'
import { callApi, type Session, uploadBytes } from '../api/session.ts'

interface Named {
  readonly id: string
  readonly name: string
}

interface Flavor extends Named {
  readonly vcpus: number
  readonly ram: number
  readonly disk: number
}

interface Host extends Named {
  readonly is_up: boolean
  readonly is_cordoned: boolean
  readonly down_reason: string | null
  readonly zone: string
}

interface Server {
  readonly status: string
  readonly fault?: { readonly message: string; readonly details?: string }
}

/** Where a server is built, and of what. */
interface Plan {
  readonly host: Host
  readonly flavor: Flavor
  readonly image: Named
}

const SERVERS = '/compute/v2.1/servers'
const STATE_MS = 600_000
/** Servers without a network. */
const NO_NETWORK_SINCE = '2.37'
const IMAGES_TRIED_MAX = 10
const IMAGES = '/image/v2/images'
/** For cells that none of the users' images is for, such as a demo's whose guests are simulated. */
const OWN_IMAGE = { name: 'verify-boot', os_hidden: true, visibility: 'private' } as const
const OWN_IMAGE_BYTES = 65_536

/**
 * The result of a server of the smallest flavor in the cell: built on one of its hosts, and deleted. Nothing is left
 * of the server, except an image for the next time that lists do not show, where one was needed.
 */
export async function verifyBoot(admin: Session, cell: string): Promise<readonly Finding[]> {
  let plan: Plan | undefined
  const host = await finding('host', async () => {
    plan = await planOf(admin, cell)
    return `${plan.host.name} takes ${plan.flavor.name} with ${plan.image.name}`
  })
  if (plan === undefined) return [host]
  const asked = plan
  let id: string | undefined
  const boot = await finding('boot', async () => {
    const begunAt = performance.now()
    id = await create(admin, asked)
    await comesUp(admin, id)
    return `active after ${secondsSince(begunAt)}`
  })
  const made = id
  if (made === undefined) return [host, boot]
  const removal = await finding('delete', async () => {
    const begunAt = performance.now()
    await callApi(admin, { method: 'DELETE', path: `${SERVERS}/${made}` })
    await waitFor('the server to be gone', () => isGone(admin, made), STATE_MS)
    return `gone after ${secondsSince(begunAt)}`
  })
  return [host, boot, removal]
}

async function planOf(admin: Session, cell: string): Promise<Plan> {
  const get = <Answer>(path: string) => callApi<Answer>(admin, { method: 'GET', path })
  const { hosts } = await get<{ hosts: readonly Host[] }>(
    `/federation/v1/hosts?cell=${encodeURIComponent(cell)}`,
  )
  const host = hosts.find(({ is_up, is_cordoned }) => is_up && !is_cordoned)
  if (host === undefined)
    throw new Failure('unavailable', `No host of cell ${cell} is up and takes servers.`, {
      detail: hosts
        .flatMap(({ name, down_reason: why }) => (why === null ? [] : `${name}: ${why}`))
        .join('; '),
    })
  const { flavors } = await get<{ flavors: readonly Flavor[] }>('/compute/v2.1/flavors/detail')
  const flavor = flavors.toSorted(
    (a, b) => a.ram - b.ram || a.vcpus - b.vcpus || a.disk - b.disk,
  )[0]
  if (flavor === undefined) throw new Failure('not-found', 'There is no flavor to boot.')
  const { images } = await get<{ images: readonly Named[] }>(
    `${IMAGES}?status=active&sort=size:asc&limit=${IMAGES_TRIED_MAX}`,
  )
  const isPlaced = async (image: Named) => {
    const body = { flavor: flavor.id, image: image.id, host: host.name }
    const path = '/federation/v1/placements'
    const placed = await callApi<{ host: string | null }>(admin, { method: 'POST', path, body })
    return placed.host === host.name
  }
  for (const image of images) if (await isPlaced(image)) return { host, flavor, image }
  const own = await ownImage(admin)
  if (await isPlaced(own)) return { host, flavor, image: own }
  throw new Failure(
    'no-capacity',
    `No image boots there with ${flavor.name}. See: ./weir why --flavor ${flavor.name} --image IMAGE`,
  )
}

/** An empty disk, which says nothing of what it is for. */
async function ownImage(admin: Session): Promise<Named> {
  const { name, os_hidden } = OWN_IMAGE
  const query = new URLSearchParams({ name, os_hidden: String(os_hidden) })
  const listed = { method: 'GET', path: `${IMAGES}?${query.toString()}` } as const
  const { images } = await callApi<{ images: readonly (Named & { status: string })[] }>(
    admin,
    listed,
  )
  const active = images.find(({ status }) => status === 'active')
  if (active !== undefined) return active
  const format = { disk_format: 'raw', container_format: 'bare' }
  const body = { ...OWN_IMAGE, ...format }
  const made = images[0] ?? (await callApi<Named>(admin, { method: 'POST', path: IMAGES, body }))
  await uploadBytes(admin, `${IMAGES}/${made.id}/file`, Buffer.alloc(OWN_IMAGE_BYTES))
  return made
}

async function create(admin: Session, { host, flavor, image }: Plan): Promise<string> {
  const { server } = await callApi<{ server: { readonly id: string } }>(admin, {
    method: 'POST',
    path: SERVERS,
    headers: { 'openstack-api-version': `compute ${NO_NETWORK_SINCE}` },
    body: {
      server: {
        name: 'verify-boot',
        flavorRef: flavor.id,
        imageRef: image.id,
        networks: 'none',
        availability_zone: `${host.zone}:${host.name}`,
      },
    },
  })
  return server.id
}

async function comesUp(admin: Session, id: string): Promise<void> {
  const get = () => callApi<{ server: Server }>(admin, { method: 'GET', path: `${SERVERS}/${id}` })
  const server = await waitFor(
    'the server to be built',
    async () => {
      const shown = (await get()).server
      return shown.status === 'BUILD' ? null : shown
    },
    STATE_MS,
  )
  if (server.status === 'ACTIVE') return
  const { message = 'no fault is shown', details } = server.fault ?? {}
  throw new Failure('internal', `The server is ${server.status}: ${message}`, {
    ...(details === undefined ? {} : { detail: details }),
  })
}

async function isGone(admin: Session, id: string): Promise<boolean> {
  const path = `${SERVERS}?uuid=${id}`
  const { servers } = await callApi<{ servers: readonly Named[] }>(admin, { method: 'GET', path })
  return servers.length === 0
}

function secondsSince(begunAt: number): string {
  return `${((performance.now() - begunAt) / 1_000).toFixed(1)} s`
}
