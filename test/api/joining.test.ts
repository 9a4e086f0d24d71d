import { readFileSync } from 'node:fs'
import { fmtCreds } from '@nats-io/jwt'
import { createUser, type KeyPair } from '@nats-io/nkeys'
import {
  connect,
  credsAuthenticator,
  type NatsConnection,
  wsconnect,
} from '@nats-io/transport-node'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { WIRE_VERSION } from '#openapi/wire.ts'
import { checkAnswer } from '#test/env/api/check-answer.ts'
import type { ApiClient, CallOptions, Loose } from '#test/env/api/client.ts'
import { createServer, SERVERS, untilGone, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { UNSEEN_REPORT } from '#test/env/unseen-report.ts'

// Goal: a cell joins and leaves while all programs run, and its credentials are worthless to others.

const QUICK_MS = 30_000
const REQUEST_MS = 500
const ASKED_MIN = 100
const PAUSE_MS = 2

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

interface JoinToken {
  readonly id: string
  readonly cell_id: string
  readonly host_id: string | null
  readonly used_at: string | null
  readonly gateway: string
}

interface Joined {
  readonly cell: { readonly id: string; readonly name: string }
  readonly host: { readonly id: string; readonly name: string } | null
  readonly credential: string
  readonly wire_version: number
  readonly bus: { readonly url: string; readonly leaf_url: string }
}

const get = <Body = Loose>(path: string) => admin.get<Body>(`/federation${path}`)
const remove = (path: string) => admin.delete(`/federation${path}`)
const makeToken = (body: Loose, options?: CallOptions) =>
  admin.post<{ join_token: JoinToken; token: string }>('/federation/v1/tokens', body, options)

/** As a joining machine does: without any other token. */
async function join(
  token: string,
  key: KeyPair,
  wireVersions: readonly number[] = [WIRE_VERSION],
): Promise<{ readonly status: number; readonly body: Joined; readonly detail: string }> {
  const path = '/federation/v1/join'
  const asked = { token, public_key: key.getPublicKey(), wire_versions: wireVersions }
  const answer = await request(cloud.endpoints[0] + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(asked),
  })
  const body = (await answer.body.json()) as Joined & { readonly detail: string }
  const { statusCode: status } = answer
  checkAnswer({ method: 'POST', path, version: '2.1', request: asked, status, answer: body })
  return { status, body, detail: body.detail }
}

async function connectAs({ bus, credential }: Joined, key: KeyPair): Promise<NatsConnection> {
  const connection = await wsconnect({
    servers: bus.url,
    authenticator: credsAuthenticator(fmtCreds(credential, key)),
    reconnect: false,
  })
  connections.push(connection)
  return connection
}

async function joined(name: string): Promise<{ readonly answer: Joined; readonly key: KeyPair }> {
  const key = createUser()
  const { body } = await makeToken({ cell: name })
  const { body: answer } = await join(body.token, key)
  return { answer, key }
}

describe('a join token', () => {
  test('is made, shown without its secret, and taken back', async () => {
    const made = await makeToken({ cell: 'east', expires_in_s: 60 })
    expect(made.status).toBe(201)
    const { join_token, token } = made.body
    expect(token).toMatch(/^weir1\./)
    expect(join_token).toMatchObject({ cell: 'east', host: null, used_at: null })

    const { body } = await get<{ tokens: readonly JoinToken[] }>('/v1/tokens')
    expect(body.tokens).toEqual([join_token])
    expect(JSON.stringify(body)).not.toContain(token.split('.')[1])

    expect((await remove(`/v1/tokens/${join_token.id}`)).status).toBe(204)
    expect((await remove(`/v1/tokens/${join_token.id}`)).status).toBe(404)
    expect(await join(token, createUser())).toMatchObject({ status: 401 })
    expect(await cloud.as('demo').post('/federation/v1/tokens', { cell: 'x' })).toMatchObject({
      status: 403,
    })
  })

  test('is made once for an Idempotency-Key, and shown once', async () => {
    const options = { headers: { 'idempotency-key': 'the same' } }
    const first = await makeToken({ cell: 'once' }, options)
    const again = await makeToken({ cell: 'once' }, options)

    expect(again.body).toEqual({ ...first.body, token: null })
    expect(await makeToken({ cell: 'other' }, options)).toMatchObject({ status: 422 })
    await remove(`/v1/tokens/${first.body.join_token.id}`)
  })

  test.each([
    ['a name that is taken', { cell: 'north' }, 409, 'There is a cell north already.'],
    ['a host name that is taken', { cell: 'north', host: 'north-1' }, 409, 'a host north-1'],
    ['a host of no cell', { cell: 'nowhere', host: 'h' }, 404, 'There is no cell nowhere'],
    ['a name that is none', { cell: 'a.b' }, 400, 'cell'],
    ['too long a life', { cell: 'east', expires_in_s: 604_801 }, 400, 'expires_in_s'],
  ])('is not made for %s', async (_what, body, status, reason) => {
    const answer = await makeToken(body)

    expect(answer.status).toBe(status)
    expect((answer.body as unknown as { detail: string }).detail).toContain(reason)
  })
})

describe('joining', () => {
  test('lets in one key, however often it asks, and no other', async () => {
    const { body: made } = await makeToken({ cell: 'east' })
    const key = createUser()

    const first = await join(made.token, key)
    expect(first.body).toMatchObject({
      cell: { id: made.join_token.cell_id, name: 'east' },
      host: null,
      wire_version: WIRE_VERSION,
    })
    expect(await join(made.token, key)).toMatchObject({
      status: 200,
      body: { cell: first.body.cell },
    })
    const stranger = await join(made.token, createUser())
    expect(stranger).toMatchObject({ status: 409, detail: expect.stringContaining('was used') })
    expect((await get('/v1/cells/east')).body).toMatchObject({ is_alive: false, summary: null })
    expect((await makeToken({ cell: 'east' })).status).toBe(409)
  })

  test('is refused for invalid requests, and nothing is registered', async () => {
    const two = [await makeToken({ cell: 'twice' }), await makeToken({ cell: 'twice' })]
    const [first, second] = two.map(({ body }) => body.token)
    const apart = await join(first!, createUser(), [WIRE_VERSION + 7])
    expect(apart).toMatchObject({ status: 409, detail: expect.stringContaining('too far apart') })
    expect((await get('/v1/cells/twice')).status).toBe(404)

    const newer = await join(first!, createUser(), [WIRE_VERSION, WIRE_VERSION + 1])
    expect(newer).toMatchObject({ status: 200, body: { wire_version: WIRE_VERSION } })
    expect((await join(second!, createUser())).status).toBe(409)
    expect((await join('weir1.nonsense', createUser())).status).toBe(400)
    const foreign = `weir1.${'A'.repeat(43)}`
    expect(await join(foreign, createUser())).toMatchObject({
      status: 401,
      detail: expect.stringContaining('does not know the join token'),
    })
  })

  test('gives a host a credential of its own, with which it reads no message to others', async () => {
    const { body: made } = await makeToken({ cell: 'north', host: 'north-9' })
    const key = createUser()
    const { body } = await join(made.token, key)
    expect(body.host).toEqual({ id: made.join_token.host_id, name: 'north-9' })

    const host = await connectAs(body, key)
    const refused: string[] = []
    const subjects = [`cell.${body.cell.id}.>`, `up.${body.cell.id}.>`, '>']
    for (const subject of subjects)
      host.subscribe(subject, { callback: (error) => void refused.push(String(error?.name)) })
    await waitFor('the refusals', () => refused.length === subjects.length, QUICK_MS)
    expect(new Set(refused)).toEqual(new Set(['PermissionViolationError']))
  })

  test('lets a host report only itself, in any message on any subject', async () => {
    const { body: made } = await makeToken({ cell: 'north', host: 'north-8' })
    const key = createUser()
    const { body } = await join(made.token, key)
    const host = await connectAs(body, key)
    const victim = cloud.cell('north').computes[0]!.id
    const { cell, host: own } = body
    const report = { ...UNSEEN_REPORT, hostId: victim, name: 'forged' }
    for (const id of [victim, own?.id])
      host.publish(`up.${cell.id}.${id}.v${WIRE_VERSION}.report`, JSON.stringify(report))
    const honest = { ...report, hostId: own?.id, name: own?.name }
    host.publish(`up.${cell.id}.${own?.id}.v${WIRE_VERSION}.report`, JSON.stringify(honest))

    const names = async () =>
      (await get<{ hosts: readonly { name: string }[] }>('/v1/hosts')).body.hosts
        .map(({ name }) => name)
        .toSorted()
    await waitFor('it to be listed', async () => (await names()).includes('north-8'), QUICK_MS)
    expect(await names()).toEqual(['north-1', 'north-8'])
  })
})

/**
 * The p99 of requests to a cell, in milliseconds, until `during` is over: an upper bound, because the requester
 * shares its process with the gateway that signs. Throws where one fails.
 */
async function askWhile(
  gateway: NatsConnection,
  subject: string,
  during: Promise<unknown>,
): Promise<number> {
  const took: number[] = []
  let isOver = false
  void during.finally(() => {
    isOver = true
  })
  while (!isOver || took.length < ASKED_MIN) {
    const startMs = performance.now()
    await gateway.request(subject, '', { timeout: QUICK_MS })
    took.push(performance.now() - startMs)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
  await during
  return took.toSorted((a, b) => a - b)[Math.floor(took.length * 0.99)] ?? Number.NaN
}

describe('other cells', () => {
  test('are not affected while one joins', async ({ annotate }) => {
    const { bus, cells } = cloud.foundation
    const north = cells[0]!.id
    const open = async (file: string) => {
      const authenticator = credsAuthenticator(readFileSync(file))
      const connection = await connect({ servers: bus.url, authenticator, reconnect: false })
      connections.push(connection)
      return connection
    }
    const gateway = await open(await bus.gatewayCredentialsFile())
    const cell = await open(await bus.cellCredentialsFile(north))
    const subject = `cell.${north}.v1.echo`
    cell.subscribe(subject, { callback: (_error, message) => void message.respond('here') })
    await cell.flush()

    const before = await askWhile(gateway, subject, Promise.resolve())
    const joins = (async () => {
      for (const nth of [1, 2, 3, 4, 5]) await joined(`new-${nth}`)
    })()
    const during = await askWhile(gateway, subject, joins)

    await annotate(`p99 ${before.toFixed(1)} ms before, ${during.toFixed(1)} ms while five join`)
    expect([gateway, cell].map((each) => each.isClosed())).toEqual([false, false])
  })
})

describe('the credential of a cell', () => {
  test('answers for that cell alone, and is worth nothing the moment the cell has left', async () => {
    const { answer, key } = await joined('west')
    const north = cloud.cell('north')
    const connection = await connectAs(answer, key)
    const seen: string[] = []
    const forge = (subject: string) =>
      connection.subscribe(subject, {
        callback: (_error, message) => {
          seen.push(message.subject)
          message.respond(JSON.stringify({ ok: true, value: {} }))
        },
      })
    forge('>')
    connection.publish(`ev.${north.id}.v1.heartbeat`, 'forged')
    await connection.flush()
    const demo = cloud.as('demo')
    const id = await createServer(cloud, demo)
    await untilStatus(demo, id, 'ACTIVE')
    expect(seen.filter((subject) => subject.includes(north.id))).toEqual([
      `ev.${north.id}.v1.heartbeat`,
    ])
    const asked = connection.request(`cell.${north.id}.v1.feed.read`, '', { timeout: REQUEST_MS })
    await expect(asked).resolves.toBeDefined()

    const silent = await remove('/v1/cells/west')
    expect(silent).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('--forget') },
    })
    expect((await remove('/v1/cells/west?forget=true')).status).toBe(204)

    await waitFor('its connection to end', () => connection.isClosed(), QUICK_MS)
    await expect(connectAs(answer, key)).rejects.toThrow(/authorization|authentication/i)
    expect((await get('/v1/cells/west')).status).toBe(404)
    const warnings = async () => {
      const { body } = await get('/v1/events?type=cell')
      const events = body['events'] as readonly Readonly<Record<string, unknown>>[]
      return events.filter(({ cell_id }) => cell_id === answer.cell.id)
    }
    await expect
      .poll(warnings)
      .toContainEqual(expect.objectContaining({ cell: 'west', state: 'left' }))
    expect((await demo.get(`${SERVERS}/${id}`)).status).toBe(200)
    await demo.delete(`${SERVERS}/${id}`)
    await untilGone(demo, id)
  })

  test('stays while servers are in the cell', async () => {
    const demo = cloud.as('demo')
    const id = await createServer(cloud, demo)
    await untilStatus(demo, id, 'ACTIVE')

    const refused = await remove('/v1/cells/north?forget=true')

    expect(refused).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('Cell north has 1 server.') },
    })
    expect((await get('/v1/cells/north')).body).toMatchObject({ is_alive: true, is_enabled: true })
  })
})
