import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiClient, Loose } from '#test/env/api/client.ts'
import { createServer, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isSigned, type ReceivedEvent, taken, WebhookReceiver } from '#test/env/webhook-receiver.ts'
import { WeirCommand } from '#test/env/weir-command.ts'

const PATH = '/federation/v1/webhooks'
const ELSEWHERE = 'https://hooks.example.com/weir'

interface Webhook extends Loose {
  readonly id: string
  readonly project_id: string
}

let cloud: Cloud
let demo: ApiClient
let admin: ApiClient
let stranger: ApiClient

beforeAll(async () => {
  cloud = await startCloud({
    gateways: 1,
    processesPerCell: 1,
    hostsPerCell: 1,
    gateway: {
      GATEWAY_WEBHOOKS_PROJECT_MAX: '2',
      GATEWAY_WEBHOOK_NETWORKS: '127.0.0.0/8',
      GATEWAY_WEBHOOK_RETRY_S: '1',
    },
  })
  demo = cloud.as('demo')
  admin = cloud.as('admin')
  stranger = cloud.as('stranger')
})

afterAll(() => cloud?.[Symbol.asyncDispose]())

const create = (body: Loose, who = demo, key?: string) =>
  who.call<{ webhook: Webhook; secret: string | null }>('POST', PATH, body, {
    headers: key === undefined ? {} : { 'idempotency-key': key },
  })

async function removeAll(): Promise<void> {
  const { body } = await admin.get<{ webhooks: readonly Webhook[] }>(PATH)
  for (const { id } of body.webhooks) await admin.delete(`${PATH}/${id}`)
}

test('the events of a boot are sent, signed with the secret that only the first answer has', async () => {
  await using receiver = await WebhookReceiver.open()
  const asked = { name: 'all', url: receiver.url }
  const { status, body } = await create(asked, demo, 'once')
  const repeat = await create(asked, demo, 'once')

  const id = await createServer(cloud, demo)
  await untilStatus(demo, id, 'ACTIVE')

  expect([status, repeat.status]).toEqual([201, 201])
  expect(repeat.body).toMatchObject({ secret: null, webhook: { id: body.webhook.id } })
  expect(JSON.stringify((await demo.get(PATH)).body)).not.toContain(body.secret)
  const kinds = () => receiver.received.map(({ event }) => `${event.type} ${event.action}`)
  await expect.poll(kinds).toContain('server.state null')
  expect(kinds()[0]).toBe('server.action create')
  expect(receiver.received.every((each) => isSigned(each, body.secret!))).toBe(true)
  expect(receiver.received[0]!.event).toMatchObject({ server_id: id, host: null, cell: null })
  await removeAll()
})

test('a webhook belongs to its project, which may have so many', async () => {
  const { body } = await create({ name: 'own', url: ELSEWHERE })
  const path = `${PATH}/${body.webhook.id}`

  for (const method of ['GET', 'DELETE'] as const)
    expect(await stranger.call(method, path, undefined)).toMatchObject({ status: 404 })
  expect((await stranger.get(PATH)).body).toEqual({ webhooks: [], next: null })
  const { project_id } = body.webhook
  expect(await create({ name: 'x', url: ELSEWHERE, project_id }, stranger)).toMatchObject({
    status: 403,
  })
  expect(await create({ name: 'x', url: ELSEWHERE, project_id }, admin)).toMatchObject({
    status: 201,
    body: { webhook: { project_id } },
  })
  expect(await create({ name: 'third', url: ELSEWHERE })).toMatchObject({
    status: 403,
    body: { type: 'urn:weir:problem:over-quota' },
  })
  expect(await admin.get(`${PATH}?limit=1`)).toMatchObject({ body: { next: body.webhook.id } })
  await removeAll()
})

test('of many requests at once a project gets no more webhooks than it may have', async () => {
  const asked = Array.from({ length: 8 }, () => create({ name: 'one of many', url: ELSEWHERE }))

  const statuses = (await Promise.all(asked)).map(({ status }) => status)

  expect(statuses.toSorted((a, b) => a - b)).toEqual([
    201,
    201,
    ...Array.from({ length: 6 }, () => 403),
  ])
  await removeAll()
})

test('a webhook is changed only as its reader knows it, and not to an address inside', async () => {
  const { body } = await create({ name: 'old', url: ELSEWHERE })
  const path = `${PATH}/${body.webhook.id}`
  const etag = (await demo.get(path)).headers['etag'] ?? ''
  const patch = (change: Loose, tag = etag) =>
    demo.call('PATCH', path, change, { headers: { 'if-match': tag } })

  expect(await patch({ url: 'http://169.254.169.254/' })).toMatchObject({ status: 400 })
  expect(await patch({ url: 'http://10.0.0.1/' })).toMatchObject({
    body: { detail: expect.stringContaining('address 10.0.0.1 is not public') },
  })
  expect(await create({ name: 'x', url: 'http://[::1]/' })).toMatchObject({ status: 400 })
  expect(await patch({ name: 'new', types: ['server.deleted'], is_enabled: false })).toMatchObject({
    status: 200,
    body: { name: 'new', url: ELSEWHERE, types: ['server.deleted'], is_enabled: false },
  })
  expect(await patch({ name: 'late' }, '"1"')).toMatchObject({ status: 412 })
  await removeAll()
})

test('a new secret signs at once, and the former one for as long as receivers need', async () => {
  await using receiver = await WebhookReceiver.open()
  const made = await create({ name: 'r', url: receiver.url })
  const { webhook, secret: first } = made.body
  const replace = async (body: Loose) => {
    const answer = await demo.call<{ secret: string }>('POST', `${PATH}/${webhook.id}/secret`, body)
    expect(answer.status).toBe(200)
    return answer.body.secret
  }
  const signers = async (...secrets: readonly (string | null)[]) => {
    receiver.received.length = 0
    const id = await createServer(cloud, demo)
    // The last event of a boot: one that came after a secret was replaced may have been signed before.
    const isLast = ({ event: { type, server_id } }: ReceivedEvent) =>
      type === 'server.step' && server_id === id
    await expect.poll(() => receiver.received.some(isLast)).toBe(true)
    return secrets.map((secret) => receiver.received.map((event) => isSigned(event, secret!)))
  }

  const all = (is: boolean): unknown =>
    expect.toSatisfy((each: boolean[]) => each.every((one) => one === is))

  expect(await signers(first)).toEqual([all(true)])
  const lost = await replace({})
  const second = await replace({})
  expect(await signers(first, lost, second)).toEqual([all(true), all(false), all(true)])

  const third = await replace({ overlap_s: 0 })
  expect(await signers(first, second, third)).toEqual([all(false), all(false), all(true)])
  const shown = await demo.get(`${PATH}/${webhook.id}`)
  expect(JSON.stringify(shown.body)).not.toContain(third)
  expect(shown.body).toMatchObject({ former_secret_ends_at: expect.stringMatching(/^20/) })
  expect(
    await demo.call('POST', `${PATH}/${webhook.id}/secret`, {}, { headers: { 'if-match': '"1"' } }),
  ).toMatchObject({ status: 412 })
  await removeAll()
})

test('the command creates webhooks, shows their dead letters and sends them again', async () => {
  let refuses = true
  await using receiver = await WebhookReceiver.open((_, response) => {
    if (refuses) response.writeHead(500).end()
    else taken(response)
  })
  const weir = new WeirCommand(cloud, 'demo')
  const made = await weir.run(`webhook create w ${receiver.url} --type server.action`)
  expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^[\w-]{43}\n$/) })
  const [{ id }] = await weir.json<readonly [Webhook]>('webhook list')
  await createServer(cloud, demo)

  await expect
    .poll(async () => (await weir.run(`webhook dead-letters ${id}`)).out)
    .toMatch(/^\d+ +\d+ +server\.action .*The receiver answered 500\.$/m)
  expect((await weir.run('webhook list')).out).toMatch(/^w +http\S+ +failing/m)
  refuses = false
  expect(await weir.run(`webhook redeliver ${id}`)).toMatchObject({
    err: expect.stringContaining('Dead letters sent again: 1.'),
  })
  await expect.poll(() => weir.json(`webhook dead-letters ${id}`)).toEqual([])
  expect(await weir.run(`webhook redeliver ${id} 1`)).toMatchObject({ code: 3 })
  expect((await weir.run(`webhook update ${id} --disable`)).out).toMatch(/STATE +disabled/)
  expect(await weir.run(`webhook update ${id}`)).toMatchObject({ code: 2 })
  expect(await weir.run(`webhook delete ${id}`)).toMatchObject({ code: 0 })
  expect(await weir.run(`webhook show ${id}`)).toMatchObject({ code: 3 })
})
