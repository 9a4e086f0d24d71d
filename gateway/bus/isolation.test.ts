import { readFileSync } from 'node:fs'
import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { MOVE_BYTES_MAX } from '#openapi/wire/host.ts'
import { type FreshBus, freshBus } from '#test/env/fresh-bus.ts'
import { computeInboxPrefix } from './accounts.ts'

// Goal: a thief of a credential can act only as its owner. Real nats-server, real connections.

const QUIET_MS = 300
const REQUEST_MS = 500

let bus: FreshBus
let gateway: NatsConnection
let cellA: NatsConnection
let cellB: NatsConnection
let hostOne: NatsConnection
let hostTwo: NatsConnection
const connections: NatsConnection[] = []

async function join(credentialsFile: string, inboxPrefix = '_INBOX'): Promise<NatsConnection> {
  const connection = await connect({
    servers: bus.url,
    authenticator: credsAuthenticator(readFileSync(credentialsFile)),
    inboxPrefix,
    reconnect: false,
  })
  connections.push(connection)
  return connection
}

async function joinHost(hostId: string): Promise<NatsConnection> {
  return join(await bus.computeCredentialsFile('cell-a', hostId), computeInboxPrefix(hostId))
}

beforeAll(async () => {
  bus = await freshBus(['cell-a', 'cell-b'])
  gateway = await join(await bus.gatewayCredentialsFile())
  cellA = await join(await bus.cellCredentialsFile('cell-a'))
  cellB = await join(await bus.cellCredentialsFile('cell-b'))
  hostOne = await joinHost('host-1')
  hostTwo = await joinHost('host-2')
  serve(cellA, 'cell.cell-a.v1.>', 'from a')
})

afterAll(async () => {
  await Promise.all(connections.map((connection) => connection.close()))
  await bus?.[Symbol.asyncDispose]()
})

function serve(connection: NatsConnection, subject: string, answer: string): void {
  connection.subscribe(subject, {
    queue: 'cell',
    callback: (error, message) => {
      if (error === null) message.respond(answer)
    },
  })
}

/** Everything that arrives on `subject` from now on, as `subject payload`. */
function record(connection: NatsConnection, subject: string): string[] {
  const seen: string[] = []
  connection.subscribe(subject, {
    callback: (error, message) => {
      seen.push(error === null ? `${message.subject} ${message.string()}` : error.name)
    },
  })
  return seen
}

/** Time for what must not arrive to arrive: first everything sent is with the server, then it stays quiet a while. */
async function settle(): Promise<void> {
  for (const connection of connections.filter((each) => !each.isClosed())) await connection.flush()
  await new Promise((resolve) => setTimeout(resolve, QUIET_MS))
}

async function outcome(connection: NatsConnection, subject: string): Promise<string> {
  try {
    return (await connection.request(subject, '', { timeout: REQUEST_MS })).string()
  } catch (error) {
    return (error as Error).name
  }
}

test('a gateway reaches a cell and hears its feed', async () => {
  const seen = record(gateway, 'ev.*.v1.feed')
  await gateway.flush()

  cellA.publish('ev.cell-a.v1.feed', 'change')

  expect(await outcome(gateway, 'cell.cell-a.v1.instance.show')).toBe('from a')
  await waitFor('the feed', () => seen.length, 2_000)
  expect(seen).toEqual(['ev.cell-a.v1.feed change'])
})

test('a gateway asks a host for its consoles, and no other host or cell hears it', async () => {
  const subject = 'cell.cell-a.host.host-1.v1.console-open'
  const others = [hostTwo, cellB].map((connection) => record(connection, subject))
  serve(hostOne, 'cell.cell-a.host.host-1.>', 'console of host 1')
  await settle()

  expect(await outcome(gateway, 'cell.cell-a.host.host-1.v1.console-read')).toContain('console')
  expect(await outcome(hostTwo, subject)).not.toContain('console')
  await outcome(gateway, subject)
  await settle()
  for (const seen of others) expect(seen.filter((line) => line.startsWith('cell.'))).toEqual([])
})

test("a cell's credential sees nothing of another cell", async () => {
  const seen = record(cellB, '>')
  await cellB.flush()

  await outcome(gateway, 'cell.cell-a.v1.instance.show')
  cellA.publish('ev.cell-a.v1.feed', 'change')
  hostOne.publish('up.cell-a.host-1.v1.alive', 'alive')
  await settle()

  expect(seen).toEqual([])
})

test("a cell's credential cannot answer for another cell", async () => {
  serve(cellB, 'cell.cell-a.v1.>', 'forged')
  await cellB.flush()

  const answers = new Set<string>()
  for (let i = 0; i < 20; i += 1) answers.add(await outcome(gateway, 'cell.cell-a.v1.x'))

  expect([...answers]).toEqual(['from a'])
})

test("a cell's credential cannot publish or ask as another cell or as a gateway", async () => {
  const received = record(gateway, 'ev.>')
  const ordered = record(hostOne, 'host.cell-a.host-1.>')
  await gateway.flush()
  await hostOne.flush()

  cellB.publish('ev.cell-a.v1.feed', 'forged')
  cellB.publish('host.cell-a.host-1.v1.destroy', 'forged')
  const asked = await outcome(cellA, 'cell.cell-b.v1.instance.show')
  await settle()

  expect(received).toEqual([])
  expect(ordered).toEqual([])
  expect(asked).toBe('RequestError')
})

test('a cell reaches its host, and the host answers and reports', async () => {
  serve(hostOne, 'host.cell-a.host-1.v1.>', 'host one')
  const reports = record(cellA, 'up.cell-a.host-1.v1.>')
  await hostOne.flush()
  await cellA.flush()

  hostOne.publish('up.cell-a.host-1.v1.alive', 'alive')

  expect(await outcome(cellA, 'host.cell-a.host-1.v1.spawn')).toBe('host one')
  await waitFor('the report', () => reports.length, 2_000)
})

test("a host's credential cannot act as another host or as its cell", async () => {
  const reports = record(cellA, 'up.cell-a.host-1.>')
  const events = record(gateway, 'ev.>')
  await cellA.flush()
  await gateway.flush()

  hostTwo.publish('up.cell-a.host-1.v1.alive', 'forged')
  hostTwo.publish('ev.cell-a.v1.feed', 'forged')
  hostTwo.publish('host.cell-a.host-1.v1.destroy', 'forged')
  await settle()

  expect(reports).toEqual([])
  expect(events).toEqual([])
})

test.each(['host.cell-a.host-1.>', 'up.>', '>', '_INBOX.>', '_INBOX.host-1.>', 'cell.cell-a.>'])(
  "a host's credential cannot listen on %s",
  async (subject) => {
    const seen = record(hostTwo, subject)
    await waitFor('the refusal', () => seen.length, 2_000)

    expect(seen).toEqual(['PermissionViolationError'])
  },
)

test('no credential reaches the server itself', async () => {
  const answers = [
    await outcome(gateway, '$SYS.REQ.SERVER.PING'),
    await outcome(cellA, '$SYS.REQ.CLAIMS.LIST'),
  ]

  expect(answers.filter((answer) => !/Error$/.test(answer))).toEqual([])
})

test('a cell added while the bus runs is reached and disturbs no other', async () => {
  await bus.addCell('cell-c')
  const cellC = await join(await bus.cellCredentialsFile('cell-c'))
  serve(cellC, 'cell.cell-c.v1.>', 'from c')
  await cellC.flush()

  const answer = await waitFor(
    'an answer of the new cell',
    async () => (await outcome(gateway, 'cell.cell-c.v1.x')) === 'from c' && 'from c',
    30_000,
  )

  expect(answer).toBe('from c')
  expect([gateway, cellA, cellB].map((each) => each.isClosed())).toEqual([false, false, false])
  expect(await outcome(gateway, 'cell.cell-a.v1.x')).toBe('from a')
})

test('a removed cell loses its connection and its credential, and the other cells keep theirs', async () => {
  await bus.addCell('cell-d')
  const credentials = await bus.cellCredentialsFile('cell-d')
  const cellD = await join(credentials)

  await bus.removeCell('cell-d')

  await waitFor('the connection to end', () => cellD.isClosed(), 2_000)
  await expect(join(credentials)).rejects.toThrow(/authorization|authentication/i)
  expect(await outcome(gateway, 'cell.cell-a.v1.x')).toBe('from a')
  expect([gateway, cellA, hostOne].map((each) => each.isClosed())).toEqual([false, false, false])
})

test('a host has as many subscriptions as it needs, and no message above its limit', async () => {
  const greedy = await joinHost('greedy')
  const refused: string[] = []
  void (async () => {
    for await (const { type, error } of greedy.status() as AsyncIterable<{
      type: string
      error?: Error
    }>)
      if (type === 'error') refused.push(String(error))
  })()
  for (let nth = 0; nth < 600; nth += 1)
    greedy.subscribe(`host.cell-a.greedy.v1.${nth}`, { callback: () => {} })
  await waitFor('the bus to refuse', () => refused.length > 0 || greedy.isClosed(), 30_000)
  expect(refused.join()).toMatch(/maximum subscriptions/i)

  const loud = await joinHost('loud')
  expect(() => loud.publish('up.cell-a.loud.report', 'x'.repeat(2 ** 20 + 1))).toThrow()
  loud.publish('up.cell-a.loud.report', 'x'.repeat(2 ** 20))
  await loud.flush()
})

test('as much of a disk as a host gives at once is within its limit', async () => {
  const mover = await joinHost('mover')
  const bytes = Buffer.alloc(MOVE_BYTES_MAX).toString('base64')
  mover.subscribe('host.cell-a.mover.v1.move-read', {
    callback: (_error, message) => {
      message.respond(JSON.stringify({ ok: true, value: { bytes } }))
    },
  })
  await mover.flush()

  const answer = await outcome(cellA, 'host.cell-a.mover.v1.move-read')
  expect(answer).toContain(bytes)
})
