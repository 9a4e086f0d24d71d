import { createHash, randomUUID } from 'node:crypto'
import type { ThingType, Value, Write } from '../record/record.ts'
import { pickKnown } from './project.ts'
import type { Actor } from './server-steps.ts'

/** Of each kind a project keeps so many at most; beyond that one is deleted. */
const KEPT = 8

interface Resource {
  readonly type: ThingType
  readonly path: string
  /** In bodies and answers. */
  readonly key: string
  readonly known: Set<string>
  readonly update?: 'PUT' | undefined
}

/** Makes, renames or deletes a network, port, security group or server group. */
export async function changeResource(actor: Actor): Promise<void> {
  const { session, project, assets } = actor
  const { random } = session.setting
  const network = '/networking/v2.0'
  const of = (type: ThingType, path: string, key: string, known: Set<string>): Resource => ({
    type,
    path,
    key,
    known,
    update: type === 'server-group' ? undefined : 'PUT',
  })
  const resource = random.pick([
    of('network', `${network}/networks`, 'network', project.networks),
    of('port', `${network}/ports`, 'port', project.ports),
    of('port', `${network}/ports`, 'port', project.ports),
    of('security-group', `${network}/security-groups`, 'security_group', project.securityGroups),
    of('server-group', '/compute/v2.1/os-server-groups', 'server_group', project.serverGroups),
  ])
  const dice = random.next()
  const one = pickKnown(random, resource.known)
  if (one !== undefined && (resource.known.size >= KEPT || dice < 0.25))
    return remove(actor, resource, one)
  if (one !== undefined && dice < 0.6 && resource.update !== undefined)
    return rename(actor, resource, one)
  const more = { port: { network_id: pickKnown(random, project.networks) ?? assets.network } }
  const group = { 'server-group': { policy: 'soft-affinity' } }
  const fields: Readonly<Record<string, object>> = { ...more, ...group }
  if (resource.type === 'network') return makeNetwork(actor, resource)
  await make(actor, resource, fields[resource.type] ?? {})
}

/** Others may delete it once it is known what goes with it. */
async function makeNetwork(actor: Actor, resource: Resource): Promise<void> {
  const id = await make(actor, { ...resource, known: new Set() }, {})
  if (id === undefined) return
  await makeSubnet(actor, id)
  resource.known.add(id)
}

async function make(
  { session, project }: Actor,
  { type, path, key, known }: Resource,
  more: object,
): Promise<string | undefined> {
  const name = `${type}-${randomUUID()}`
  const { status, body } = await session.call({
    method: 'POST',
    path,
    body: { [key]: { name, ...more } },
    makes: { type, name, projectId: project.id },
    made: (answer: Readonly<Record<string, { readonly id: string }>>) =>
      written(`${type}:${answer[key]!.id}`, { exists: true, name }),
  })
  if (status < 200 || status >= 300) return undefined
  const { id } = (body as Readonly<Record<string, { readonly id: string }>>)[key]!
  known.add(id)
  return id
}

/** Without one no port of the network has an address. */
async function makeSubnet(actor: Actor, network: string): Promise<void> {
  const { random } = actor.session.setting
  const cidr = `10.${Math.floor(random.next() * 200) + 20}.${Math.floor(random.next() * 250)}.0/24`
  const path = '/networking/v2.0/subnets'
  const subnets = new Set<string>()
  await make(
    actor,
    { type: 'subnet', path, key: 'subnet', known: subnets },
    { network_id: network, cidr, ip_version: 4 },
  )
  actor.project.subnetsOf.set(network, [...subnets])
}

async function rename({ session }: Actor, resource: Resource, id: string): Promise<void> {
  const { type, path, key } = resource
  const name = randomUUID()
  const { status } = await session.call({
    method: 'PUT',
    path: `${path}/${id}`,
    body: { [key]: { name } },
    writes: written(`${type}:${id}`, { name }),
  })
  if (status === 404) resource.known.delete(id)
}

/** A network's subnets go with it. */
async function remove(
  { session, project }: Actor,
  { type, path, known }: Resource,
  id: string,
): Promise<void> {
  const { status } = await session.call({
    method: 'DELETE',
    path: `${path}/${id}`,
    writes: [
      ...written(`${type}:${id}`, { exists: false }),
      ...(project.subnetsOf.get(id) ?? []).flatMap((subnet) =>
        written(`subnet:${subnet}`, { exists: false }),
      ),
    ],
  })
  if (status === 204 || status === 404) known.delete(id)
}

/** Key pairs are a user's own, and have no id but their name. */
export async function changeKeypair({ session }: Actor, known: Set<string>): Promise<void> {
  const { random } = session.setting
  const path = '/compute/v2.1/os-keypairs'
  const thing = (name: string) => `keypair:${session.user.userId}/${name}`
  const one = pickKnown(random, known)
  if (one !== undefined && (known.size >= KEPT || random.next() < 0.4)) {
    const writes = written(thing(one), { exists: false })
    const { status } = await session.call({ method: 'DELETE', path: `${path}/${one}`, writes })
    if (status === 202 || status === 204 || status === 404) known.delete(one)
    return
  }
  const name = randomUUID()
  const { status } = await session.call({
    method: 'POST',
    path,
    body: { keypair: { name, public_key: publicKey() } },
    writes: written(thing(name), { exists: true }),
  })
  if (status === 200 || status === 201) known.add(name)
}

/** Makes an image with content, looks whether it is kept as it was sent, or deletes one. */
export async function changeImage({ session, project }: Actor): Promise<void> {
  const { random } = session.setting
  const path = '/image/v2/images'
  const one = pickKnown(random, project.images)
  if (one !== undefined && (project.images.size >= KEPT || random.next() < 0.3)) {
    const writes = written(`image:${one}`, { exists: false })
    const { status } = await session.call({ method: 'DELETE', path: `${path}/${one}`, writes })
    if (status === 204 || status === 404) project.images.delete(one)
    return
  }
  const name = `image-${randomUUID()}`
  const { status, body } = await session.call({
    method: 'POST',
    path,
    body: { name, disk_format: 'raw', container_format: 'bare', hypervisor_type: 'fake' },
    makes: { type: 'image', name, projectId: project.id },
    made: ({ id }: { readonly id: string }) => written(`image:${id}`, { exists: true, name }),
  })
  if (status !== 201) return
  const { id } = body as { readonly id: string }
  project.images.add(id)
  const content = Buffer.from(`${name}\n`.repeat(1 + Math.floor(random.next() * 2_000)))
  const checksum = createHash('md5').update(content).digest('hex')
  await session.call({
    method: 'PUT',
    path: `${path}/${id}/file`,
    body: content,
    writes: written(`image:${id}`, { checksum, status: 'active' }),
  })
}

function written(thing: string, fields: Readonly<Record<string, Value>>): readonly Write[] {
  return Object.entries(fields).map(([field, value]) => ({ thing, field, value }))
}

/** An Ed25519 key in the form of ssh: its type and 32 bytes, each after its length. */
function publicKey(): string {
  const type = Buffer.from('ssh-ed25519')
  const key = createHash('sha256').update(randomUUID()).digest()
  const sized = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes])
  return `ssh-ed25519 ${Buffer.concat([sized(type), sized(key)]).toString('base64')} reliability`
}
