import { ask, type SignedIn } from '../users/account.ts'
import type { ApiServer, ApiState, ApiThing } from './snapshot.ts'

const PAGE = 500

interface Described {
  readonly id: string
  readonly name: string | null
  readonly description?: string
}

interface ListedServer extends Described {
  readonly tenant_id: string
  readonly status: string
  readonly flavor: { readonly vcpus: number }
  readonly metadata: Readonly<Record<string, string>>
  readonly tags: readonly string[]
  readonly addresses: Readonly<Record<string, readonly { readonly addr: string }[]>>
  readonly fault?: { readonly message: string }
  readonly 'OS-EXT-STS:vm_state': string
  readonly 'OS-EXT-STS:task_state': string | null
  readonly 'OS-EXT-SRV-ATTR:host': string | null
}

interface NamedKeypair {
  readonly keypair: { readonly name: string }
}

/** What the gateways show: everything to the administrator, key pairs to the users they belong to. */
export async function readApi(
  port: number,
  admin: SignedIn,
  users: readonly SignedIn[],
): Promise<ApiState> {
  const list = async (path: string, key: string): Promise<readonly ApiThing[]> => {
    const body = await ask<Record<string, readonly Described[]>>(port, admin, ['GET', path])
    return (body[key] ?? []).map(({ id, name, description }) => ({
      id,
      name: name ?? '',
      fields: { name, ...(description === undefined ? {} : { description }) },
    }))
  }
  return {
    servers: await readServers(port, admin),
    things: {
      port: await list('/networking/v2.0/ports', 'ports'),
      network: await list('/networking/v2.0/networks', 'networks'),
      subnet: await list('/networking/v2.0/subnets', 'subnets'),
      'security-group': await list('/networking/v2.0/security-groups', 'security_groups'),
      'server-group': await list(
        '/compute/v2.1/os-server-groups?all_projects=1&limit=1000',
        'server_groups',
      ),
      keypair: (await Promise.all(users.map((user) => readKeypairs(port, user)))).flat(),
      image: await readImages(port, admin),
      user: await list('/identity/v3/users', 'users'),
    },
  }
}

async function readServers(port: number, admin: SignedIn): Promise<readonly ApiServer[]> {
  const servers: ApiServer[] = []
  for (let marker = ''; ; ) {
    const path = `/compute/v2.1/servers/detail?all_tenants=1&limit=${PAGE}${marker}`
    const page = (await ask<{ servers: readonly ListedServer[] }>(port, admin, ['GET', path]))
      .servers
    servers.push(...page.map(serverOf))
    if (page.length < PAGE) return servers
    marker = `&marker=${page.at(-1)!.id}`
  }
}

function serverOf(server: ListedServer): ApiServer {
  const { id, name, description, status, flavor, metadata, tags, fault } = server
  return {
    id,
    projectId: server.tenant_id,
    name: name ?? '',
    description: description ?? null,
    status,
    vmState: server['OS-EXT-STS:vm_state'],
    taskState: server['OS-EXT-STS:task_state'],
    host: server['OS-EXT-SRV-ATTR:host'],
    vcpus: flavor.vcpus,
    metadata,
    tags,
    addresses: Object.values(server.addresses).flatMap((own) => own.map(({ addr }) => addr)),
    fault: fault?.message,
  }
}

async function readKeypairs(port: number, user: SignedIn): Promise<readonly ApiThing[]> {
  const { keypairs } = await ask<{ keypairs: readonly NamedKeypair[] }>(port, user, [
    'GET',
    '/compute/v2.1/os-keypairs?limit=1000',
  ])
  return keypairs.map(({ keypair: { name } }) => ({
    id: `${user.userId}/${name}`,
    name,
    fields: {},
  }))
}

async function readImages(port: number, admin: SignedIn): Promise<readonly ApiThing[]> {
  const images: ApiThing[] = []
  for (let path: string | undefined = '/image/v2/images?limit=500&visibility=all'; path; ) {
    const page: ImagePage = await ask<ImagePage>(port, admin, ['GET', path])
    for (const { id, name, checksum, status } of page.images)
      images.push({ id, name: name ?? '', fields: { name, checksum, status } })
    path = page.next === undefined ? undefined : `/image${page.next}`
  }
  return images
}

interface ImagePage {
  readonly images: readonly (Described & {
    readonly checksum: string | null
    readonly status: string
  })[]
  /** From the service's root. */
  readonly next?: string
}
