import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import type { Microversion } from '#openapi/microversions.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { ConsoleSocket } from '#test/env/api/console-socket.ts'
import { act, activeServer, deleteServer, SERVERS, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { startDrivenHost } from '#test/env/driven-host.ts'
import { StubCloud } from '#test/env/stub-cloud.ts'

interface RemoteConsole {
  readonly remote_console: {
    readonly protocol: string
    readonly type: string
    readonly url: string
  }
}

const OPEN_MAX = 2

let cloud: Cloud
let demo: ApiClient
let id: string

beforeAll(async () => {
  cloud = await startCloud({
    gateways: 1,
    processesPerCell: 1,
    gateway: { GATEWAY_CONSOLE_OPEN_MAX: String(OPEN_MAX) },
  })
  demo = cloud.as('demo')
  id = (await activeServer(cloud, demo, { name: 'talker' })).id
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

const ask = (protocol: string, type: string, version: Microversion = '2.93', server = id) =>
  demo.post<RemoteConsole>(
    `${SERVERS}/${server}/remote-consoles`,
    { remote_console: { protocol, type } },
    { version },
  )

const urlOf = async (server = id) =>
  (await ask('serial', 'serial', '2.6', server)).body.remote_console.url

const demoUserId = async () =>
  (
    await cloud
      .as('admin')
      .get<{ users: readonly [{ id: string }] }>('/identity/v3/users?name=demo')
  ).body.users[0].id
const setEnabled = (user: string, enabled: boolean) =>
  cloud.as('admin').call('PATCH', `/identity/v3/users/${user}`, { user: { enabled } })

interface Assignment {
  readonly role: { readonly id: string }
  readonly scope: { readonly project: { readonly id: string } }
}
let assignments: readonly Assignment[] = []

async function changeRights(method: 'PUT' | 'DELETE', how: string): Promise<void> {
  const admin = cloud.as('admin')
  const user = await demoUserId()
  const isGiven = method === 'PUT'
  if (how === 'its user disabled') await setEnabled(user, isGiven)
  for (const { role, scope } of assignments) {
    const project = `/identity/v3/projects/${scope.project.id}`
    if (how === 'its project disabled')
      await admin.call('PATCH', project, { project: { enabled: isGiven } })
    if (how === 'its roles withdrawn')
      await admin.call(method, `${project}/users/${user}/roles/${role.id}`, undefined)
  }
}

async function takeAway(how: string): Promise<void> {
  const path = `/identity/v3/role_assignments?user.id=${await demoUserId()}`
  const { body } = await cloud.as('admin').get<{ role_assignments: readonly Assignment[] }>(path)
  assignments = body.role_assignments
  await changeRights('DELETE', how)
}

const giveBack = (how: string) => changeRights('PUT', how)

describe('a console is asked for', () => {
  test.each([
    ['vnc', 'novnc', 'vnc'],
    ['serial', 'serial', 'serial'],
  ])(
    '%s %s from 2.6 on, and its URL leads to a page of the gateway',
    async (protocol, type, page) => {
      const { status, body } = await ask(protocol, type, '2.6')

      expect(status).toBe(200)
      expect(body.remote_console).toMatchObject({ protocol, type })
      const { url } = body.remote_console
      expect(url).toMatch(
        new RegExp(`^${cloud.endpoints[0]}/console/${page}#token=[\\w-]{43}&server=`),
      )
      const shown = await fetch(url)
      expect(shown.status).toBe(200)
      expect(shown.headers.get('content-security-policy')).toContain("script-src 'self'")
      expect((await fetch(`${cloud.endpoints[0]}/console/${page}/${page}.js`)).status).toBe(200)
    },
  )

  test.each([
    ['vnc', 'xvpvnc', '2.6', 'Unavailable console type xvpvnc.'],
    ['spice', 'spice-html5', '2.6', 'Unavailable console type spice-html5.'],
    ['rdp', 'rdp-html5', '2.6', 'Unavailable console type rdp-html5.'],
    ['mks', 'webmks', '2.8', 'Unavailable console type webmks.'],
    ['vnc', 'serial', '2.8', 'Unavailable console type serial.'],
    ['mks', 'webmks', '2.7', /must be one of/],
    ['vnc', 'vnc', '2.8', /type/],
  ] as const)('%s %s at %s is refused', async (protocol, type, version, message) => {
    const { status, body } = await ask(protocol, type, version)

    expect(status).toBe(400)
    const { badRequest } = body as unknown as { badRequest: { message: string } }
    if (typeof message === 'string') expect(badRequest.message).toBe(message)
    else expect(badRequest.message).toMatch(message)
  })

  test('as an action until 2.5, and no longer', async () => {
    const vnc = await act(demo, id, { 'os-getVNCConsole': { type: 'novnc' } })
    const serial = await act(demo, id, { 'os-getSerialConsole': { type: 'serial' } })
    const spice = await act(demo, id, { 'os-getSPICEConsole': { type: 'spice-html5' } })
    const rdp = await act(demo, id, { 'os-getRDPConsole': { type: 'rdp-html5' } })
    const late = await act(demo, id, { 'os-getVNCConsole': { type: 'novnc' } }, { version: '2.6' })

    expect([vnc, serial, spice, rdp, late].map(({ status }) => status)).toEqual([
      200, 200, 400, 400, 404,
    ])
    expect(vnc.body['console']).toMatchObject({
      type: 'novnc',
      url: expect.stringContaining('/console/vnc#'),
    })
    expect(serial.body['console']).toMatchObject({
      url: expect.stringContaining('/console/serial#'),
    })
    expect((await ask('vnc', 'novnc', '2.5')).status).toBe(404)
  })

  test('of an unknown server, or for another project, is not found', async () => {
    expect((await ask('vnc', 'novnc', '2.93', crypto.randomUUID())).status).toBe(404)
    const body = { remote_console: { protocol: 'vnc', type: 'novnc' } }
    const foreign = await cloud
      .as('stranger')
      .post(`${SERVERS}/${id}/remote-consoles`, body, { version: '2.93' })
    expect(foreign.status).toBe(404)
  })

  test('the request behind a token is shown to administrators, from 2.31 on, until it is used', async () => {
    const url = await urlOf()
    const token = new URL(url).hash.match(/token=([\w-]+)/)?.[1] ?? ''
    const show = (client: ApiClient, version: Microversion) =>
      client.get(`/compute/v2.1/os-console-auth-tokens/${token}`, { version })
    const admin = cloud.as('admin')

    expect((await show(demo, '2.31')).status).toBe(403)
    expect((await show(admin, '2.30')).status).toBe(401)
    expect((await show(admin, '2.31')).body).toMatchObject({
      console: { instance_uuid: id, port: Number(new URL(url).port), internal_access_path: null },
    })
    using used = await ConsoleSocket.open(url)
    expect((await show(admin, '2.31')).status).toBe(404)
    used.socket.close()
    await used.untilClosed()
  })
})

describe('an open console', () => {
  test('carries keystrokes to the guest and its output back, once per token', async () => {
    const url = await urlOf()
    using console = await ConsoleSocket.open(url)

    console.send('hello, guest')
    await console.until('hello, guest')

    await expect(ConsoleSocket.open(url)).rejects.toThrow('401')
    expect(console.socket.protocol).toBe('binary')
    console.socket.close()
    await console.untilClosed()
  })

  test('is not opened from a page of another site, which does not use the token up', async () => {
    const url = await urlOf()

    await expect(ConsoleSocket.open(url, { origin: 'https://evil.example' })).rejects.toThrow('403')

    using console = await ConsoleSocket.open(url)
    console.socket.close()
    await console.untilClosed()
  })

  test('brings megabytes through in order, however slowly they are taken', async () => {
    using console = await ConsoleSocket.open(await urlOf())
    const text = Array.from({ length: 40_000 }, (_, i) => `line ${i} of many lines\n`).join('')

    console.socket.pause()
    for (let start = 0; start < text.length; start += 100_000)
      console.send(text.slice(start, start + 100_000))
    console.socket.resume()

    await console.until('line 39999 of many lines')
    expect(console.shown).toBe(text)
    console.socket.close()
    await console.untilClosed()
  })

  test('is refused beyond the limit of its project, and one that is closed makes room', async () => {
    const [first, second, third] = await Promise.all([urlOf(), urlOf(), urlOf()])
    using one = await ConsoleSocket.open(first)
    using two = await ConsoleSocket.open(second)

    await expect(ConsoleSocket.open(third)).rejects.toThrow('403')

    one.socket.close()
    await one.untilClosed()
    const room = async () => ConsoleSocket.open(await urlOf()).catch(() => undefined)
    let another: ConsoleSocket | undefined
    await expect.poll(async () => (another = await room()) !== undefined).toBe(true)
    for (const each of [two, another!]) {
      each.socket.close()
      await each.untilClosed()
    }
  })

  test('ends when its server is stopped, and cannot be opened for a stopped server', async () => {
    using console = await ConsoleSocket.open(await urlOf())

    await act(demo, id, { 'os-stop': null })
    await console.untilClosed()

    await untilStatus(demo, id, 'SHUTOFF')
    await expect(ConsoleSocket.open(await urlOf())).rejects.toThrow('409')
    await act(demo, id, { 'os-start': null })
    await untilStatus(demo, id, 'ACTIVE')
  })

  test('ends when its server is deleted, and its unused tokens open nothing', async () => {
    const { id: server } = await activeServer(cloud, demo, { name: 'leaver' })
    using console = await ConsoleSocket.open(await urlOf(server))
    const unused = await urlOf(server)

    await deleteServer(demo, server)

    await console.untilClosed()
    await expect(ConsoleSocket.open(unused)).rejects.toThrow('401')
  })

  test('ends when its session is revoked', async () => {
    using console = await ConsoleSocket.open(await urlOf())
    await using db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })

    await db.orm.execute('delete from console_sessions')

    // Noticed when the host next says that there is nothing to show.
    await console.untilClosed()
  })

  test.each(['revoked', 'its user disabled', 'its project disabled', 'its roles withdrawn'])(
    'ends once the token it was asked for with is %s, and one not yet opened is not opened',
    async (how) => {
      const token = await cloud.login('demo')
      const headers = { 'x-auth-token': token, 'content-type': 'application/json' }
      const asked = async () => {
        const answer = await fetch(`${cloud.endpoints[0]}${SERVERS}/${id}/action`, {
          method: 'POST',
          headers,
          body: JSON.stringify({ 'os-getSerialConsole': { type: 'serial' } }),
        })
        return ((await answer.json()) as { console: { url: string } }).console.url
      }
      const [opened, unused] = [await asked(), await asked()]
      using console = await ConsoleSocket.open(opened)

      if (how === 'revoked')
        await fetch(`${cloud.endpoints[0]}/identity/v3/auth/tokens`, {
          method: 'DELETE',
          headers: { ...headers, 'x-subject-token': token },
        })
      else await takeAway(how)

      try {
        await console.untilClosed()
        await expect(ConsoleSocket.open(unused)).rejects.toThrow('401')
      } finally {
        await giveBack(how)
        // Her other tokens ended with her.
        demo.logOut()
      }
    },
  )

  test('is counted, and its token is stored and logged nowhere', async () => {
    const url = await urlOf()
    const token = new URL(url).hash.match(/token=([\w-]+)/)?.[1] ?? ''
    using console = await ConsoleSocket.open(url)
    const metrics = await cloud.metrics()
    await using db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })

    const stored = await db.orm.execute('select * from console_sessions')

    expect(metrics).toContain('weir_consoles_open{kind="serial"} 1')
    expect(metrics).toMatch(/weir_console_bytes_total\{way="shown"\} [1-9]/)
    expect(JSON.stringify(stored)).not.toContain(token)
    console.socket.close()
    await console.untilClosed()
  })
})

/** The last: a host that has just gone is still sent servers. */
test('a console that the nested cloud does not have is refused, and not promised', async () => {
  await using below = await StubCloud.start()
  const settings = {
    ...{ auth_url: below.url, application_credential_id: 'a', application_credential_secret: 'b' },
    ...{ projects: 'any', networks: '127.0.0.0/8', allow_http: 'true', hypervisor_type: 'fake' },
    ...{ poll_ms: '20', idle_poll_ms: '100' },
  }
  await using host = await startDrivenHost(cloud, 'nested', settings)
  const admin = cloud.as('admin')
  const there = await activeServer(cloud, admin, { availability_zone: `nova:${host.name}` })
  const refusal = { answer: 400, body: '{"badRequest":{"message":"Unavailable console type"}}' }
  below.disturb(/remote-consoles$/, refusal)
  const from = async () =>
    admin.post<RemoteConsole>(
      `${SERVERS}/${there.id}/remote-consoles`,
      { remote_console: { protocol: 'vnc', type: 'novnc' } },
      { version: '2.93' },
    )

  expect(await from()).toMatchObject({
    status: 400,
    body: { badRequest: { message: 'Unavailable console type novnc.' } },
  })
  below.disturb(/remote-consoles$/, {
    answer: 200,
    body: '{"remote_console":{"url":"http://127.0.0.1:1/vnc_auto.html?token=t"}}',
  })
  expect((await from()).status).toBe(200)
  await deleteServer(admin, there.id)
})
