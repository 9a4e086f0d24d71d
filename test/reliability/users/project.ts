import { randomUUID } from 'node:crypto'
import type { SeededRandom } from '#test/env/random.ts'
import { ask, type SignedIn, signIn } from './account.ts'

/** A project and the objects that its users believe it has. */
export interface Project {
  readonly id: string
  readonly users: readonly SignedIn[]
  readonly servers: Set<string>
  readonly networks: Set<string>
  /** By network. */
  readonly subnetsOf: Map<string, readonly string[]>
  readonly ports: Set<string>
  readonly securityGroups: Set<string>
  readonly serverGroups: Set<string>
  readonly images: Set<string>
}

/** What every project finds there. */
export interface Assets {
  readonly image: string
  readonly network: string
  /** From the smallest on. */
  readonly flavors: readonly string[]
}

const USERS_EACH = 4
const INSTANCES_MAX = 60
const LIMITS = { instances: INSTANCES_MAX, cores: 200, ram: 200_000, server_groups: 20 }
const NETWORK_LIMITS = { port: 150, network: 20, subnet: 20, security_group: 20 }

/** Makes so many projects with users and limits of their own. */
export async function makeProjects(
  port: number,
  admin: SignedIn,
  count: number,
  name = 'project',
): Promise<readonly Project[]> {
  const { roles } = await ask<{ roles: readonly { id: string; name: string }[] }>(port, admin, [
    'GET',
    '/identity/v3/roles?name=member',
  ])
  const made: Project[] = []
  for (let nth = 0; nth < count; nth += 1)
    made.push(await makeProject(port, admin, { name: `${name}-${nth}`, role: roles[0]!.id }))
  return made
}

async function makeProject(
  port: number,
  admin: SignedIn,
  { name, role }: { readonly name: string; readonly role: string },
): Promise<Project> {
  const { project } = await ask<{ project: { readonly id: string } }>(port, admin, [
    'POST',
    '/identity/v3/projects',
    { project: { name, domain_id: 'default' } },
  ])
  const { id } = project
  const quotas = `/compute/v2.1/os-quota-sets/${id}`
  await ask(port, admin, ['PUT', quotas, { quota_set: LIMITS }])
  await ask(port, admin, ['PUT', `/networking/v2.0/quotas/${id}`, { quota: NETWORK_LIMITS }])
  const users: SignedIn[] = []
  for (let nth = 0; nth < USERS_EACH; nth += 1) {
    const userName = `${name}-user-${nth}`
    const password = randomUUID()
    const { user } = await ask<{ user: { readonly id: string } }>(port, admin, [
      'POST',
      '/identity/v3/users',
      { user: { name: userName, password, domain_id: 'default' } },
    ])
    await ask(port, admin, ['PUT', `/identity/v3/projects/${id}/users/${user.id}/roles/${role}`])
    users.push(await signIn(port, { userName, password, projectName: name }))
  }
  const nothing = () => new Set<string>()
  return {
    id,
    users,
    servers: nothing(),
    networks: nothing(),
    subnetsOf: new Map(),
    ports: nothing(),
    securityGroups: nothing(),
    serverGroups: nothing(),
    images: nothing(),
  }
}

/** The demo's image, network and flavors. */
export async function findAssets(port: number, admin: SignedIn): Promise<Assets> {
  const { images } = await ask<{ images: readonly [{ id: string }] }>(port, admin, [
    'GET',
    '/image/v2/images?name=tiny',
  ])
  const { networks } = await ask<{ networks: readonly [{ id: string }] }>(port, admin, [
    'GET',
    '/networking/v2.0/networks?name=private',
  ])
  return { image: images[0].id, network: networks[0].id, flavors: ['1', '2'] }
}

/** One of those that are known; undefined where none is. */
export function pickKnown(random: SeededRandom, known: ReadonlySet<string>): string | undefined {
  return known.size === 0 ? undefined : random.pick([...known])
}
