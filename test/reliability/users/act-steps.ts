import { randomUUID } from 'node:crypto'
import { pickKnown } from './project.ts'
import { type Actor, destroy, SERVERS, show } from './server-steps.ts'

type ActBody = Readonly<Record<string, unknown>>

/** What can be asked of a server in such a state. */
const ACTS: Readonly<Record<string, readonly string[]>> = {
  ACTIVE: [
    ...['os-stop', 'reboot', 'reboot', 'pause', 'suspend', 'rescue', 'shelve', 'createImage'],
    ...['rebuild', 'rebuild', 'resize', 'attach', 'attach', 'detach', 'detach', 'lock'],
  ],
  SHUTOFF: ['os-start', 'os-start', 'rebuild', 'resize', 'shelve', 'attach', 'detach'],
  PAUSED: ['unpause'],
  SUSPENDED: ['resume'],
  RESCUE: ['unrescue'],
  SHELVED: ['unshelve'],
  SHELVED_OFFLOADED: ['unshelve'],
  VERIFY_RESIZE: ['confirmResize', 'revertResize'],
}
/** The name of its record, where it is not the act's. */
const RECORDED: Readonly<Record<string, string>> = { 'os-stop': 'stop', 'os-start': 'start' }

/** Looks at a server and asks it to do something that it can. */
export async function act(actor: Actor, id: string): Promise<void> {
  const { random } = actor.session.setting
  const server = await show(actor, id)
  if (server === undefined) return
  if (server.status === 'ERROR') return destroy(actor, id)
  const possible = ACTS[server.status]
  if (server.locked) return ask(actor, id, { unlock: null })
  if (possible === undefined) return
  const chosen = random.pick(possible)
  if (chosen === 'attach') return attach(actor, id)
  if (chosen === 'detach') return detach(actor, id)
  if (chosen === 'createImage') return snapshot(actor, id)
  await ask(actor, id, bodyOf(actor, chosen))
}

function bodyOf({ session, assets }: Actor, name: string): ActBody {
  const { random } = session.setting
  if (name === 'reboot') return { reboot: { type: random.pick(['SOFT', 'HARD']) } }
  if (name === 'rebuild') return { rebuild: { imageRef: assets.image } }
  if (name === 'resize') return { resize: { flavorRef: random.pick(assets.flavors) } }
  return { [name]: null }
}

async function ask({ session }: Actor, id: string, body: ActBody): Promise<void> {
  const [name = ''] = Object.keys(body)
  await session.call({
    method: 'POST',
    path: `${SERVERS}/${id}/action`,
    body,
    act: { serverId: id, name: RECORDED[name] ?? name },
  })
}

async function attach({ session, project, assets }: Actor, id: string): Promise<void> {
  const { random } = session.setting
  const port = random.next() < 0.3 ? pickKnown(random, project.ports) : undefined
  const what = port === undefined ? { net_id: assets.network } : { port_id: port }
  await session.call({
    method: 'POST',
    path: `${SERVERS}/${id}/os-interface`,
    body: { interfaceAttachment: what },
    act: { serverId: id, name: 'attach_interface' },
  })
}

async function detach({ session }: Actor, id: string): Promise<void> {
  const { status, body } = await session.call({
    method: 'GET',
    path: `${SERVERS}/${id}/os-interface`,
  })
  if (status !== 200) return
  const { interfaceAttachments: nics } = body as {
    readonly interfaceAttachments: readonly { readonly port_id: string }[]
  }
  const last = nics.at(-1)
  if (last === undefined) return
  await session.call({
    method: 'DELETE',
    path: `${SERVERS}/${id}/os-interface/${last.port_id}`,
    act: { serverId: id, name: 'detach_interface' },
  })
}

/** The image is its server's to fill, and is taken back where that fails: it is not promised. */
async function snapshot({ session, project }: Actor, id: string): Promise<void> {
  const { status, body } = await session.call({
    method: 'POST',
    path: `${SERVERS}/${id}/action`,
    body: { createImage: { name: `snapshot-${randomUUID()}` } },
    act: { serverId: id, name: 'createImage' },
  })
  if (status === 202) project.images.add((body as { readonly image_id: string }).image_id)
}
