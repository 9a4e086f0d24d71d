import { randomUUID } from 'node:crypto'
import type { Write } from '../record/record.ts'
import { type Assets, type Project, pickKnown } from './project.ts'
import type { Answered, Call, GatewayAddress, Session } from './session.ts'

export const SERVERS = '/compute/v2.1/servers'
/** Keys and tags that users change; the comparison looks at each. */
export const KEYS = ['a', 'b', 'c'] as const
/** Tries of one boot whose answer is lost, under one key. */
const TRIES = 3

export interface Server {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly metadata: Readonly<Record<string, string>>
  readonly locked: boolean
}

/** Who does something, and in which project. */
export interface Actor {
  readonly session: Session
  readonly project: Project
  readonly assets: Assets
}

export interface BootRequest {
  readonly zone?: string
  readonly gateway?: GatewayAddress
}

/** Asks for a server; returns its id, or undefined where none was promised. */
export async function boot(actor: Actor, request: BootRequest = {}): Promise<string | undefined> {
  const { session, project } = actor
  const call = bootCall(actor, request)
  const mayRepeat = session.setting.random.next() < 0.3
  const key: Record<string, string> = mayRepeat ? { 'idempotency-key': randomUUID() } : {}
  for (let tries = 0; tries < (mayRepeat ? TRIES : 1); tries += 1) {
    const { status, body } = await session.call({ ...call, headers: key }, request.gateway)
    if (status === 202) {
      const { id } = (body as { readonly server: { readonly id: string } }).server
      project.servers.add(id)
      return id
    }
    if (status !== 0 && status < 500) return undefined
  }
  return undefined
}

function bootCall({ session, project, assets }: Actor, { zone }: BootRequest): Call {
  const { random } = session.setting
  const name = `server-${randomUUID()}`
  const port = random.next() < 0.06 ? pickKnown(random, project.ports) : undefined
  const network = random.next() < 0.3 ? pickKnown(random, project.networks) : undefined
  const networks = [port === undefined ? { uuid: network ?? assets.network } : { port }]
  const metadata = { a: randomUUID() }
  const description = randomUUID()
  return {
    method: 'POST',
    path: SERVERS,
    body: {
      server: {
        name,
        description,
        metadata,
        networks,
        imageRef: assets.image,
        flavorRef: assets.flavors[0],
        ...(zone === undefined ? {} : { availability_zone: zone }),
      },
    },
    makes: { type: 'server', name, projectId: project.id },
    made: ({ server: { id } }: { readonly server: { readonly id: string } }) =>
      Object.entries({
        exists: true,
        name,
        description,
        ...Object.fromEntries(KEYS.map((key) => [`metadata.${key}`, null])),
        ...Object.fromEntries(KEYS.map((key) => [`tag.${key}`, false])),
        'metadata.a': metadata.a,
      }).map(([field, value]): Write => ({ thing: `server:${id}`, field, value })),
  }
}

export async function destroy({ session, project }: Actor, id: string): Promise<void> {
  const writes = [{ thing: `server:${id}`, field: 'exists', value: false }]
  const { status } = await session.call({ method: 'DELETE', path: `${SERVERS}/${id}`, writes })
  if (status === 204 || status === 404) project.servers.delete(id)
}

/** Reads a server and compares it with earlier answers. */
export async function show({ session, project }: Actor, id: string): Promise<Server | undefined> {
  const answer = await session.call({ method: 'GET', path: `${SERVERS}/${id}` })
  if (answer.status === 404) project.servers.delete(id)
  if (answer.status !== 200) return undefined
  const { server } = answer.body as { readonly server: Server }
  checkServer(session, answer, server)
  return server
}

/** Reads all of a project: none that was promised is missing. */
export async function list({ session, project }: Actor): Promise<void> {
  const answer = await session.call({ method: 'GET', path: `${SERVERS}/detail?limit=1000` })
  if (answer.status !== 200) return
  const { servers } = answer.body as { readonly servers: readonly Server[] }
  for (const server of servers) checkServer(session, answer, server)
  const there = new Set(servers.map(({ id }) => id))
  for (const id of project.servers)
    if (!there.has(id)) session.check(answer, [`server:${id}`, 'exists'], false)
}

function checkServer(session: Session, answer: Answered, { id, name, metadata }: Server): void {
  session.check(answer, [`server:${id}`, 'name'], name)
  for (const key of KEYS)
    session.check(answer, [`server:${id}`, `metadata.${key}`], metadata[key] ?? null)
}

/** Renames it, or changes its description, a key of its metadata or a tag. */
export async function edit({ session }: Actor, id: string): Promise<void> {
  const { random } = session.setting
  const thing = `server:${id}`
  const key = random.pick(KEYS)
  const value = randomUUID()
  const path = `${SERVERS}/${id}`
  const isTagged = random.next() < 0.5
  const call = random.pick<Call>([
    {
      method: 'PUT',
      path,
      body: { server: { name: value } },
      writes: [{ thing, field: 'name', value }],
    },
    {
      method: 'PUT',
      path,
      body: { server: { description: value } },
      writes: [{ thing, field: 'description', value }],
    },
    {
      method: 'PUT',
      path: `${path}/metadata/${key}`,
      body: { meta: { [key]: value } },
      writes: [{ thing, field: `metadata.${key}`, value }],
    },
    {
      method: 'DELETE',
      path: `${path}/metadata/${key}`,
      writes: [{ thing, field: `metadata.${key}`, value: null }],
    },
    {
      method: isTagged ? 'PUT' : 'DELETE',
      path: `${path}/tags/${key}`,
      writes: [{ thing, field: `tag.${key}`, value: isTagged }],
    },
  ])
  await session.call(call)
}
