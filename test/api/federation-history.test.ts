import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import { createServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'

let cloud: Cloud
let admin: ApiClient
let demo: ApiClient

beforeAll(async () => {
  cloud = await startCloud()
  admin = cloud.as('admin')
  demo = cloud.as('demo')
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

interface Host {
  readonly id: string
  readonly name: string
  readonly is_cordoned: boolean
}

const FOLLOWS_MS = 15_000
const get = <Body = Loose>(path: string) => admin.get<Body>(`/federation${path}`)
const patch = (path: string, body: Loose) => admin.call('PATCH', `/federation${path}`, body)
const hostsOf = async (cell: string) =>
  (await get<{ hosts: readonly Host[] }>(`/v1/hosts?cell=${cell}`)).body.hosts

/** A server of the demo that runs in a cell, and the host it is on. */
async function runningIn(cell: string): Promise<{ readonly id: string; readonly host: Host }> {
  const id = await createServer(cloud, demo, { availability_zone: cell })
  await untilStatus(demo, id, 'ACTIVE')
  const { body } = await get<{ host: string }>(`/v1/servers/${id}/trace`)
  return { id, host: (await hostsOf(cell)).find(({ name }) => name === body.host)! }
}

interface Reported {
  readonly id: string
  readonly type: string
  readonly action: string | null
  readonly state: string | null
}

interface Assignment {
  readonly role: { readonly id: string }
  readonly scope: { readonly project: { readonly id: string } }
}

interface Page {
  readonly events: readonly (Loose & Reported)[]
  readonly next: string
}

describe('events', () => {
  const eventsOf = async (who: ApiClient, query: string) =>
    (await who.get<Page>(`/federation/v1/events?${query}`)).body
  const kinds = ({ events }: Pick<Page, 'events'>) =>
    events.map(({ type, action, state }) => `${type} ${action ?? state ?? ''}`)

  test('of a server are sent in order, to its project and to administrators', async () => {
    const id = await createServer(cloud, demo)
    await untilStatus(demo, id, 'ACTIVE')
    const page = await waitFor(
      'the events of the boot',
      async () => {
        const found = await eventsOf(demo, `server=${id}&after=0`)
        return kinds(found).includes('server.state active') ? found : undefined
      },
      FOLLOWS_MS,
    )

    expect(kinds(page)[0]).toBe('server.action create')
    const ids = page.events.map((event) => Number(event.id))
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    expect(page.events.every(({ host, cell_id }) => host === null && cell_id === null)).toBe(true)
    const [active] = (await eventsOf(admin, `server=${id}&type=server.state`)).events
    expect(active).toMatchObject({ state: 'active', power_state: 'running' })
    expect(active!['host']).toMatch(/^(north|south)-/)
    expect(await eventsOf(demo, `server=${id}&after=${page.next}`)).toMatchObject({ events: [] })
    expect((await eventsOf(cloud.as('stranger'), `server=${id}&after=0`)).events).toEqual([])
  })

  test('of cells and hosts are the operators’ alone', async () => {
    const [host] = await hostsOf('south')
    const untilHost = (state: string) =>
      waitFor(
        `the host to be told ${state}`,
        async () => {
          const { events } = await eventsOf(admin, 'type=host&cell=south')
          return events.filter((event) => event['host'] === host!.name).at(-1)?.['state'] === state
        },
        FOLLOWS_MS,
      )
    // Of changes that a cell tells together only the last is an event.
    await patch(`/v1/hosts/${host!.id}`, { is_cordoned: true, cordon_reason: 'a fan' })
    await untilHost('cordoned')
    await patch(`/v1/hosts/${host!.id}`, { is_cordoned: false })
    await untilHost('up')
    await patch('/v1/cells/north', { is_enabled: false, disabled_reason: 'power works' })
    await patch('/v1/cells/north', { is_enabled: true })
    await waitFor(
      'the cell’s events',
      async () =>
        kinds(await eventsOf(admin, 'type=cell.state&cell=north')).at(-1) === 'cell.state enabled',
      FOLLOWS_MS,
    )
    expect(kinds(await eventsOf(admin, 'type=cell.state&cell=north'))).toContain(
      'cell.state disabled',
    )

    expect((await eventsOf(demo, 'type=host')).events).toEqual([])
    for (const query of ['cell=south', 'project=other'])
      expect((await demo.get(`/federation/v1/events?${query}`)).status).toBe(403)
    expect(await get('/v1/events?after=999999999')).toMatchObject({
      status: 410,
      body: { type: 'urn:weir:problem:http-410' },
    })
  })

  test('stream ends with the right to it', async () => {
    const token = await cloud.login('demo')
    await using stream = await followEvents(cloud.endpoints[0]!, '', '0', token)
    const received = stream.events[Symbol.asyncIterator]()
    expect((await received.next()).done).toBe(false)

    await fetch(`${cloud.endpoints[0]}/identity/v3/auth/tokens`, {
      method: 'DELETE',
      headers: { 'x-auth-token': token, 'x-subject-token': token },
    })

    while ((await received.next()).done !== true) continue
  })

  test('stream ends once the role of its user is withdrawn', async () => {
    const users = await admin.get<{ users: readonly [{ id: string }] }>(
      '/identity/v3/users?name=demo',
    )
    const { body } = await admin.get<{ role_assignments: readonly Assignment[] }>(
      `/identity/v3/role_assignments?user.id=${users.body.users[0].id}`,
    )
    const paths = body.role_assignments.map(
      ({ role, scope }) =>
        `/identity/v3/projects/${scope.project.id}/users/${users.body.users[0].id}/roles/${role.id}`,
    )
    await using stream = await followEvents(cloud.endpoints[0]!, '', '0')
    const received = stream.events[Symbol.asyncIterator]()
    expect((await received.next()).done).toBe(false)

    for (const path of paths) await admin.call('DELETE', path, undefined)
    try {
      while ((await received.next()).done !== true) continue
    } finally {
      for (const path of paths) await admin.call('PUT', path, undefined)
    }
  })

  test('stream on from where a client was cut off, on any gateway', async () => {
    const id = await createServer(cloud, demo)
    await untilStatus(demo, id, 'ACTIVE')
    const first = await waitFor(
      'its first event',
      async () => (await eventsOf(demo, `server=${id}&after=0`)).events[0],
      FOLLOWS_MS,
    )

    const received: string[] = []
    for (const endpoint of cloud.endpoints) {
      await using stream = await followEvents(endpoint, `server=${id}`, received.at(-1) ?? first.id)
      if (received.length > 0) await demo.delete(`/compute/v2.1/servers/${id}`)
      const until = received.length > 0 ? 'server.deleted' : 'server.state'
      for await (const event of stream.events) {
        received.push(event.id)
        if (event.type === until) break
      }
    }

    const all = await eventsOf(demo, `server=${id}&after=${first.id}`)
    // The step of the delete may end after it.
    expect(received).toEqual(all.events.slice(0, received.length).map((event) => event.id))
  })
})

describe('operations', () => {
  interface Operation extends Loose {
    readonly id: string
    readonly state: string
    readonly servers?: readonly string[]
  }
  const PATH = '/v1/operations'
  const wait = async (id: string, seconds: number) =>
    (await get<Operation>(`${PATH}/${id}?wait=${seconds}`)).body
  const drain = (host: Host, body: Loose = {}, key?: string) =>
    admin.call<Operation>('POST', `/federation/v1/hosts/${host.id}/drain`, body, {
      headers: key === undefined ? {} : { 'idempotency-key': key },
    })

  test('a drained host is cordoned, shows its remaining servers, and ends empty', async () => {
    const { id, host } = await runningIn('south')

    const begun = await drain(host, { reason: 'a new disk', move: false })
    expect(begun).toMatchObject({ status: 202, body: { kind: 'host-drain', state: 'running' } })
    expect((await drain(host)).body.id).toBe(begun.body.id)
    const under = await waitFor(
      'the servers to be counted',
      async () => {
        const operation = await wait(begun.body.id, 0)
        return typeof operation['remaining'] === 'number' ? operation : undefined
      },
      FOLLOWS_MS,
    )
    expect(under.servers).toContain(id)
    expect((await get(`/v1/hosts/${host.id}`)).body).toMatchObject({
      is_cordoned: true,
      cordon_reason: 'a new disk',
    })
    const listed = (await get<{ operations: readonly Operation[] }>(`${PATH}?state=running`)).body
    expect(listed.operations.map((operation) => operation.id)).toContain(begun.body.id)

    const ended = wait(begun.body.id, 30)
    for (const each of under.servers!) await demo.delete(`/compute/v2.1/servers/${each}`)
    expect(await ended).toMatchObject({ state: 'done', remaining: 0, is_cancellable: false })
    expect((await admin.post(`/federation${PATH}/${begun.body.id}/cancel`)).status).toBe(409)
    await patch(`/v1/hosts/${host.id}`, { is_cordoned: false })
  })

  test('are cancelled, by word or by taking the cordon back', async () => {
    const { host } = await runningIn('north')
    const cordoned = () =>
      waitFor(
        'the host to be cordoned',
        async () => (await get<Host>(`/v1/hosts/${host.id}`)).body.is_cordoned,
        FOLLOWS_MS,
      )

    const first = (await drain(host, { move: false }, 'once')).body
    await cordoned()
    const cancelled = await admin.post<Operation>(`/federation${PATH}/${first.id}/cancel`)
    expect(cancelled.body).toMatchObject({ state: 'cancelled' })
    expect((await get<Host>(`/v1/hosts/${host.id}`)).body.is_cordoned).toBe(true)
    expect((await drain(host, { move: false }, 'once')).body).toMatchObject({
      id: first.id,
      state: 'cancelled',
    })
    expect((await drain(host, { reason: 'another' }, 'once')).status).toBe(422)

    const second = (await drain(host, { move: false })).body
    await waitFor(
      'the servers to be counted',
      async () => typeof (await wait(second.id, 0))['total'] === 'number',
      FOLLOWS_MS,
    )
    await patch(`/v1/hosts/${host.id}`, { is_cordoned: false })
    expect(await wait(second.id, 30)).toMatchObject({ state: 'cancelled' })

    expect((await get(`${PATH}/none`)).status).toBe(404)
    expect((await get(`${PATH}?cursor=none`)).status).toBe(400)
    expect((await demo.get(`/federation${PATH}`)).status).toBe(403)
  })
})

describe('the audit', () => {
  interface Audit {
    readonly records: readonly Loose[]
    readonly next: string | null
  }
  const audit = async (query: string) => (await get<Audit>(`/v1/audit?${query}`)).body

  test('names the user, the change and the answer of each request', async () => {
    const done = await patch('/v1/cells/north', { weight: 1 })
    const refused = await demo.call('PATCH', '/federation/v1/cells/north', { weight: 2 })
    const requestId = (headers: Readonly<Record<string, string>>) =>
      headers['x-openstack-request-id']!

    // A change of the federation is on record before it is answered.
    const [own] = (await audit(`request=${requestId(done.headers)}`)).records
    expect(own).toMatchObject({
      user_name: 'admin',
      action: 'federation:updateCell',
      target: '/federation/v1/cells/north',
      outcome: 'success',
      status: 200,
    })
    expect((await audit(`request=${requestId(refused.headers)}`)).records).toMatchObject([
      { user_name: 'demo', outcome: 'failure', status: 403 },
    ])
    const first = await audit('action=federation:updateCell&limit=1')
    const second = await audit(`action=federation:updateCell&limit=1&cursor=${first.next}`)
    expect(Number(second.records[0]!['id'])).toBeLessThan(Number(first.records[0]!['id']))

    const id = await createServer(cloud, demo)
    await demo.post(`/compute/v2.1/servers/${id}/action`, { lock: null })
    await waitFor(
      'the lock to be on record',
      async () => {
        const { records } = await audit('action=compute:lockServer')
        return records.some(({ target }) => String(target).includes(id))
      },
      FOLLOWS_MS,
    )
    expect((await audit('action=federation:listAudit')).records).toEqual([])
    expect((await audit('cursor=1')).records).toEqual([])
    expect((await get('/v1/audit?cursor=x')).status).toBe(400)
    expect((await demo.get('/federation/v1/audit')).status).toBe(403)
  })
})

/** The events of a stream as they come. */
async function followEvents(endpoint: string, query: string, lastId: string, token?: string) {
  const cut = new AbortController()
  const response = await fetch(`${endpoint}/federation/v1/events?${query}`, {
    headers: {
      accept: 'text/event-stream',
      'last-event-id': lastId,
      'x-auth-token': token ?? (await demo.token()),
    },
    signal: cut.signal,
  })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  return {
    events: eventsIn(response.body!),
    [Symbol.asyncDispose]: async () => cut.abort(),
  }
}

async function* eventsIn(body: ReadableStream<Uint8Array>) {
  let text = ''
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const messages = (text + chunk).split('\n\n')
    text = messages.pop() ?? ''
    for (const message of messages) {
      const data = /^data: (.*)$/m.exec(message)?.[1]
      if (data !== undefined) yield JSON.parse(data) as Page['events'][number]
    }
  }
}
