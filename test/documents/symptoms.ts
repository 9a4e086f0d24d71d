import { randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { workContext } from '#common/context.ts'
import type { InstanceId } from '#common/ids.ts'
import { sagas } from '#common/saga/schema.ts'
import { waitFor } from '#common/wait-for.ts'
import { callApi, type Session } from '#deploy/api/session.ts'
import { layoutIn } from '#deploy/deployment/layout.ts'
import { openDatabase } from '#deploy/upkeep/open-database.ts'
import { type DeleteServerParams, deleteServerSaga } from '#gateway/app/sagas/delete-server.ts'
import type { Machine } from './reader.ts'

// What pages begin with: servers, users, and things gone wrong, of the deployment of a machine.

const STATE_MS = 120_000
const SERVERS = '/compute/v2.1/servers'

type Named = readonly { readonly id: string; readonly name: string }[]

const idOf = async <Kind extends string>(
  session: Session,
  path: string,
  kind: Kind,
  name: string,
) => {
  const answer = await callApi<Record<Kind, Named>>(session, { method: 'GET', path })
  const found = answer[kind].find((each) => each.name === name)
  if (found === undefined) throw new Error(`There is no ${name} among the ${kind}.`)
  return found.id
}

/** The id of a new server of the demo project, which need not run yet. */
export async function bootServer(machine: Machine, name: string, zone?: string): Promise<string> {
  const demo = await machine.checkout.signIn('weir')
  const server = {
    name,
    flavorRef: await idOf(demo, '/compute/v2.1/flavors', 'flavors', 'm1.tiny'),
    imageRef: await idOf(demo, '/image/v2/images', 'images', 'tiny'),
    networks: [{ uuid: await idOf(demo, '/networking/v2.0/networks', 'networks', 'private') }],
    ...(zone === undefined ? {} : { availability_zone: zone }),
  }
  const call = { method: 'POST', path: SERVERS, body: { server } } as const
  return (await callApi<{ server: { id: string } }>(demo, call)).server.id
}

/** Afterwards the server of this name is in this state. */
export async function untilServer(machine: Machine, name: string, status: string): Promise<void> {
  const isSo = async () =>
    (await machine.checkout.servers()).some((each) => each.name === name && each.status === status)
  await waitFor(`server ${name} to be ${status}`, isSo, STATE_MS)
}

/** Afterwards the project demo has another user, who may do what a member may; returns the password. */
export async function addUserOf(machine: Machine, name: string): Promise<string> {
  const admin = await machine.checkout.signIn('weir-admin')
  const identity = '/identity/v3'
  const project = await idOf(admin, `${identity}/projects`, 'projects', 'demo')
  const role = await idOf(admin, `${identity}/roles`, 'roles', 'member')
  const password = randomUUID()
  const body = { user: { name, password, domain_id: 'default' } }
  const call = { method: 'POST', path: `${identity}/users`, body } as const
  const { user } = await callApi<{ user: { id: string } }>(admin, call)
  const path = `${identity}/projects/${project}/users/${user.id}/roles/${role}`
  await callApi(admin, { method: 'PUT', path })
  return password
}

/** The id of an operation that is stuck: the delete of this server, of which no step has been done. */
export async function leaveStuck(machine: Machine, serverId: string): Promise<string> {
  const id = randomUUID()
  const params: DeleteServerParams = {
    serverId: serverId as InstanceId,
    operationId: randomUUID(),
    requester: null,
  }
  await using db = openDatabase(layoutIn(machine.checkout.home), 'weir')
  // The process that booted it is the one that got stuck.
  const [boot] = await db.orm.select().from(sagas).where(eq(sagas.subject, serverId))
  if (boot === undefined) throw new Error(`Server ${serverId} was not booted here.`)
  await db.orm.insert(sagas).values({
    ...boot,
    id,
    name: deleteServerSaga.name,
    version: deleteServerSaga.version,
    state: 'stuck',
    params,
    work: workContext({}),
    log: [],
    why: 'The disk is gone.',
    resumeAt: new Date(),
    createdAt: new Date(),
  })
  return id
}
