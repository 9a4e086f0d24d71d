import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { IronicClient } from './client.ts'
import { ironicSettings } from './settings.ts'

interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

describe('a client of an ironic that trusts a Keystone', () => {
  let server: Server
  let asked: unknown[]
  let tokens: Set<string>
  let lifeMs: number
  let ironicAnswer: () => Answer
  const signal = () => AbortSignal.timeout(10_000)
  const secret = { application_credential_id: 'id', application_credential_secret: 'secret' }

  beforeEach(async () => {
    asked = []
    tokens = new Set()
    lifeMs = 3_600_000
    ironicAnswer = () => ({ status: 200, body: { nodes: [] } })
    server = createServer((request, response) => {
      void answer(request).then(({ status, headers = {}, body }) => {
        response.writeHead(status, headers).end(JSON.stringify(body))
      })
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  })
  afterEach(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  async function answer(request: IncomingMessage): Promise<Answer> {
    if (request.url !== '/v3/auth/tokens') {
      if (!tokens.has(String(request.headers['x-auth-token']))) return { status: 401, body: {} }
      return ironicAnswer()
    }
    const login = (await json(request)) as object
    asked.push(login)
    if (JSON.stringify(login).includes('wrong')) return { status: 401, body: {} }
    const token = randomUUID()
    tokens.add(token)
    const now = Date.now()
    const issued_at = new Date(now).toISOString()
    const expires_at = new Date(now + lifeMs).toISOString()
    const headers = { 'x-subject-token': token }
    return { status: 201, headers, body: { token: { issued_at, expires_at } } }
  }

  function client(login: Readonly<Record<string, string>>): IronicClient {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const more = { url, auth_url: `${url}/v3`, image_url: 'http://images.invalid' }
    return new IronicClient(ironicSettings({ ...more, ...login }))
  }

  test('logs in once for all who ask, and again when the token is refused', async () => {
    const ironic = client(secret)

    await Promise.all([ironic.nodes(signal()), ironic.nodes(signal())])
    expect(asked).toEqual([
      {
        auth: {
          identity: {
            methods: ['application_credential'],
            application_credential: { id: 'id', secret: 'secret' },
          },
        },
      },
    ])

    tokens.clear()
    await ironic.nodes(signal())
    expect(asked).toHaveLength(2)
  })

  test('logs in again before its token ends, as a user of a project', async () => {
    lifeMs = 0
    const ironic = client({ user: 'weir', password: 'secret', project: 'service' })

    await ironic.nodes(signal())
    await ironic.nodes(signal())

    expect(asked).toHaveLength(2)
    expect(asked[0]).toMatchObject({
      auth: { scope: { project: { name: 'service', domain: { name: 'Default' } } } },
    })
  })

  test('names the NIC that a node boots by first', async () => {
    const ports = [
      { address: '52:54:00:00:00:01', pxe_enabled: false, internal_info: {} },
      {
        address: '52:54:00:00:00:02',
        pxe_enabled: true,
        internal_info: { tenant_vif_port_id: 'port' },
      },
    ]
    ironicAnswer = () => ({ status: 200, body: { ports } })

    const found = await client(secret).nics('node', signal())

    expect(found).toEqual([
      { macAddress: '52:54:00:00:00:02', vif: 'port' },
      { macAddress: '52:54:00:00:00:01', vif: undefined },
    ])
  })

  test('says so when its user may not', async () => {
    ironicAnswer = () => ({ status: 403, body: { error_message: 'no' } })

    await expect(client(secret).nodes(signal())).rejects.toMatchObject({
      kind: 'forbidden',
      message: 'Ironic does not let this host’s user do this.',
      detail: expect.stringContaining('no'),
    })
  })

  test('knows a network that refuses from an ironic that cannot answer', async () => {
    ironicAnswer = () => ({ status: 500, body: { error_message: 'Network operation failure.' } })
    const ironic = client(secret)

    await expect(ironic.attachVif('node', 'port', signal())).rejects.toMatchObject({
      kind: 'internal',
      detail: expect.stringContaining('Network operation failure.'),
    })
    await expect(ironic.detachVif('node', 'port', signal())).rejects.toMatchObject({
      kind: 'unavailable',
    })
  })

  test('that is refused, or gets a malformed answer, is unavailable', async () => {
    const wrong = client({ ...secret, application_credential_secret: 'wrong' })
    await expect(wrong.nodes(signal())).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'The Keystone of ironic refuses this host’s credential.',
    })

    const ironic = client(secret)
    ironicAnswer = () => ({ status: 401, body: {} })
    await expect(ironic.nodes(signal())).rejects.toMatchObject({ kind: 'unavailable' })
    expect(asked).toHaveLength(3)
    ironicAnswer = () => ({ status: 200, body: '<html>' })
    await expect(ironic.nodes(signal())).rejects.toMatchObject({ kind: 'unavailable' })
  })
})
