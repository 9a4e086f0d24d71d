import { decode, fmtCreds, type User } from '@nats-io/jwt'
import { createUser, type KeyPair } from '@nats-io/nkeys'
import {
  connect,
  credsAuthenticator,
  type NatsConnection,
  wsconnect,
} from '@nats-io/transport-node'
import { request } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { renewalProof } from '#common/bus/credential.ts'
import { renewAtGateway } from '#common/bus/keep-credential.ts'
import { newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { computePermissions } from '#gateway/bus/accounts.ts'
import { signUser } from '#gateway/bus/sign-user.ts'
import { WIRE_VERSION } from '#openapi/wire.ts'
import { checkAnswer } from '#test/env/api/check-answer.ts'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { UNSEEN_REPORT } from '#test/env/unseen-report.ts'

// Goal: a credential of a cell or host on the bus expires, can be renewed only by its holder, and can be revoked for one host.

const QUICK_MS = 5_000
const MONTH_S = 30 * 86_400

let cloud: Cloud
let admin: ApiClient
const connections: NatsConnection[] = []

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1, hostsPerCell: 1 })
  admin = cloud.as('admin')
})

afterAll(async () => {
  await Promise.all(connections.map((connection) => connection.close()))
  await cloud?.[Symbol.asyncDispose]()
})

interface Joined {
  readonly cell: { readonly id: string; readonly name: string }
  readonly host: { readonly id: string; readonly name: string } | null
  readonly credential: string
  readonly bus: { readonly url: string }
}

const get = (path: string) => admin.get(`/federation${path}`)
const remove = (path: string) => admin.delete(`/federation${path}`)
const makeToken = (body: Loose) => admin.post<{ token: string }>('/federation/v1/tokens', body)

async function connectAs({ bus, credential }: Joined, key: KeyPair): Promise<NatsConnection> {
  const connection = await wsconnect({
    servers: bus.url,
    authenticator: credsAuthenticator(fmtCreds(credential, key)),
    reconnect: false,
  })
  connections.push(connection)
  return connection
}

async function joined(asked: Loose): Promise<{ readonly answer: Joined; readonly key: KeyPair }> {
  const key = createUser()
  const { body } = await makeToken(asked)
  const { body: answer } = await admin.post<Joined>('/federation/v1/join', {
    token: body.token,
    public_key: key.getPublicKey(),
    wire_versions: [WIRE_VERSION],
  })
  return { answer, key }
}

interface Answered {
  readonly status: number
  readonly credential?: string
  readonly detail?: string
}

/** As a program does that holds a credential: without any token. */
async function renew(credential: string, key: KeyPair): Promise<Answered> {
  const path = '/federation/v1/join/renew'
  const signature = Buffer.from(key.sign(renewalProof(credential))).toString('base64url')
  const asked = { credential, signature }
  const answer = await request(cloud.endpoints[0] + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(asked),
  })
  const body = (await answer.body.json()) as Omit<Answered, 'status'>
  const { statusCode: status } = answer
  checkAnswer({ method: 'POST', path, version: '2.1', request: asked, status, answer: body })
  return { status, ...body }
}

test('a credential ends, and is renewed for its key alone, with the rights it has', async () => {
  const { answer, key } = await joined({ cell: 'north', host: 'north-7' })
  const { exp = Number.NaN, iat } = decode(answer.credential)
  expect(exp - iat).toBeLessThanOrEqual(MONTH_S)
  expect(exp - iat).toBeGreaterThan(MONTH_S - 60)

  const renewed = await renew(answer.credential, key)

  expect(renewed.status).toBe(200)
  const before = decode<User>(answer.credential)
  const after = decode<User>(renewed.credential!)
  expect(after.exp).toBeGreaterThanOrEqual(exp)
  expect([after.sub, after.iss, after.nats]).toEqual([before.sub, before.iss, before.nats])
  expect(after.nats.payload).toBe(2 ** 20)
  const connection = await connectAs({ ...answer, credential: renewed.credential! }, key)
  await connection.flush()
  const kept = { jwt: answer.credential, seed: new TextDecoder().decode(key.getSeed()) }
  const again = renewAtGateway(cloud.endpoints[0]!)
  expect(decode(await again({ ...kept, claims: before }))).toMatchObject({ sub: before.sub })
  await expect(again({ ...kept, jwt: 'nonsense', claims: before })).rejects.toThrow(
    'cannot be read',
  )
  expect(await renew(answer.credential, createUser())).toMatchObject({
    status: 401,
    detail: expect.stringContaining('not that of the key'),
  })
})

test('a credential that has ended is refused by the bus, and not renewed', async () => {
  const { cells, bus } = cloud.foundation
  const { seed } = bus.account(cells[0]!.id)
  const key = createUser()
  const rights = computePermissions(cells[0]!.id, newId())
  const credential = await signUser('host-old', key.getPublicKey(), seed, rights, -1)

  expect(await renew(credential, key)).toMatchObject({
    status: 401,
    detail: expect.stringContaining('./weir cell token create'),
  })
  const dialled = connect({
    servers: bus.url,
    authenticator: credsAuthenticator(fmtCreds(credential, key)),
    reconnect: false,
  })
  await expect(dialled).rejects.toThrow(/authorization|authentication/i)
})

test('the credential of one host is taken back, and the host comes back with another key', async () => {
  const { answer, key } = await joined({ cell: 'north', host: 'north-6' })
  const { answer: other, key: otherKey } = await joined({ cell: 'north', host: 'north-5' })
  const [connection, otherConnection] = [
    await connectAs(answer, key),
    await connectAs(other, otherKey),
  ]
  const { cell, host } = answer
  const report = { ...UNSEEN_REPORT, hostId: host?.id, name: host?.name }
  connection.publish(`up.${cell.id}.${host?.id}.v${WIRE_VERSION}.report`, JSON.stringify(report))
  const path = `/v1/hosts/${host?.id}`
  await waitFor('it to be listed', async () => (await get(path)).status === 200, QUICK_MS)

  expect((await remove(`${path}/credentials`)).status).toBe(204)

  await waitFor('its connection to end', () => connection.isClosed(), QUICK_MS)
  await expect(connectAs(answer, key)).rejects.toThrow(/authorization|authentication/i)
  expect(await renew(answer.credential, key)).toMatchObject({
    status: 401,
    detail: expect.stringContaining('shut out'),
  })
  await otherConnection.flush()
  expect((await makeToken({ cell: 'north', host: 'north-6' })).status).toBe(409)
  const back = await joined({ cell: 'north', host: 'north-6', renew: true })
  expect(back.answer.host).toEqual(host)
  await (await connectAs(back.answer, back.key)).flush()
})

test('the credential of a host is not revoked by a deployment that did not sign it', async () => {
  const { id } = cloud.cell('north').computes[0]!

  expect(await remove(`/v1/hosts/${id}/credentials`)).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining('bus of its own cell') },
  })
})

test('the credential of an existing cell is renewed for the same cell', async () => {
  const { answer } = await joined({ cell: 'south' })
  expect((await makeToken({ cell: 'nowhere', renew: true })).status).toBe(404)

  const again = await joined({ cell: 'south', renew: true })

  expect(again.answer.cell).toEqual(answer.cell)
  await (await connectAs(again.answer, again.key)).flush()
})

test('the refusal of a lost cell says how it comes back', async () => {
  const { answer, key } = await joined({ cell: 'east' })
  const lost = await admin.post('/federation/v1/cells/east/lost', { statement: 'It was cut off.' })
  expect(lost.status).toBe(202)

  const refusal = async () => (await renew(answer.credential, key)).detail
  expect(await refusal()).toMatch(/cell east was declared lost at \S+,.* --renew/)

  await joined({ cell: 'east', renew: true })
  expect(await refusal()).toContain('cell east was declared lost')
  expect((await makeToken({ cell: 'east' })).status).toBe(409)
})

test('a cell that is let in and one that has left are events', async () => {
  const { answer, key } = await joined({ cell: 'west' })
  expect((await remove('/v1/cells/west?forget=true')).status).toBe(204)

  expect(await renew(answer.credential, key)).toMatchObject({
    status: 401,
    detail: expect.stringContaining('the cell has left this deployment'),
  })

  const states = async () => {
    const { body } = await admin.get<{
      events: readonly { cell_id: string; state: string | null }[]
    }>('/federation/v1/events?type=cell.state')
    return body.events.filter((each) => each.cell_id === answer.cell.id).map(({ state }) => state)
  }
  await expect.poll(states).toEqual(expect.arrayContaining(['joined', 'left']))
})
