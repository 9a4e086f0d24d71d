import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { connect as connectTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodeUser, fmtCreds } from '@nats-io/jwt'
import { createAccount, createUser, type KeyPair } from '@nats-io/nkeys'
import {
  connect,
  credsAuthenticator,
  type NatsConnection,
  wsconnect,
} from '@nats-io/transport-node'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { openUplink } from '#cells/uplink.ts'
import { createLogger } from '#common/log.ts'
import { waitFor } from '#common/wait-for.ts'
import { startNats, stopNats } from '#deploy/nats.ts'
import { cellAccount, SERVER_SIDE_PERMISSIONS } from '#gateway/bus/accounts.ts'
import { createCellAccount } from '#gateway/bus/create-cell-account.ts'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'

// Goal: the bus endpoints for other machines admit cells and hosts, and forward no bytes of any other client.

const QUICK_MS = 30_000
/** RFC 6455 §5.2: the most significant bit of a 64-bit length is 0, so this is the longest there can be. */
const LENGTH_MAX = 0x7fffffffffffffffn
const BINARY_FRAME = 0x82
const MASKED_64_BIT = 0x80 | 127
const PAYLOAD_BYTES = 3 * 2 ** 20

let cloud: Cloud
let bus: string
let cellId: string
let credential: string
const key = createUser()
const open: NatsConnection[] = []

beforeAll(async () => {
  cloud = await startCloud({ gateways: 1, cells: 0 })
  bus = cloud.endpoints[0]!.replace('http', 'ws')
  const made = await cloud
    .as('admin')
    .post<{ token: string }>('/federation/v1/tokens', { cell: 'edge' })
  const answer = await cloud
    .as('admin')
    .post<{ cell: { id: string }; credential: string }>('/federation/v1/join', {
      token: made.body.token,
      public_key: key.getPublicKey(),
      wire_versions: [1],
    })
  cellId = answer.body.cell.id
  credential = answer.body.credential
})

afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()))
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

async function dial(creds: Uint8Array): Promise<NatsConnection> {
  const connection = await wsconnect({
    servers: `${bus}/bus`,
    authenticator: credsAuthenticator(creds),
    reconnect: false,
  })
  open.push(connection)
  return connection
}

const asCell = () => dial(fmtCreds(credential, key))

/** Sends one text over a new connection, and returns everything received until it closes. */
async function answerTo(path: string, sent: string): Promise<string> {
  const socket = new WebSocket(bus + path)
  let received = ''
  socket.on('message', (data: Buffer) => {
    if (received === '') socket.send(sent)
    received += data.toString()
  })
  await new Promise((resolve) => socket.once('close', resolve))
  return received
}

test.each(['/bus', '/bus/leaf'])(
  'a frame of a made-up length at %s harms no connection',
  async (path) => {
    const before = await asCell()
    const { hostname, port } = new URL(bus)
    const socket = connectTcp(Number(port), hostname)
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n',
    )
    let received = ''
    socket.on('data', (bytes: Buffer) => {
      if (received === '') {
        const frame = Buffer.alloc(278)
        frame[0] = BINARY_FRAME
        frame[1] = MASKED_64_BIT
        frame.writeBigUInt64BE(LENGTH_MAX, 2)
        socket.write(frame)
      }
      received += bytes.toString('latin1')
    })
    await new Promise((resolve) => socket.once('close', resolve))

    expect(received).toContain('101 Switching Protocols')
    await before.flush()
    await (await asCell()).flush()
  },
)

test('nothing reaches the bus from a peer that has no credential', async () => {
  const other = createAccount()
  const stranger = createUser()
  const forged = await encodeUser('forged', stranger, other, SERVER_SIDE_PERMISSIONS)
  const verdict = "-ERR 'Authorization Violation'"

  expect(await answerTo('/bus', 'PING\r\n')).toContain(verdict)
  expect(await answerTo('/bus', 'CONNECT {"verbose":false}\r\n')).toContain(verdict)
  expect(await answerTo('/bus/leaf', `CONNECT {"jwt":"${credential}","sig":"AAAA"}\r\n`)).toContain(
    verdict,
  )
  expect(await answerTo('/bus', `CONNECT ${'x'.repeat(40_000)}`)).toContain(verdict)
  await expect(dial(fmtCreds(forged, stranger))).rejects.toThrow(/authorization/i)
  // The right credential without its key.
  await expect(dial(fmtCreds(credential, stranger))).rejects.toThrow(/authorization/i)
})

test('the credential of the gateways is worth nothing from outside', async () => {
  const own = readFileSync(await cloud.foundation.bus.gatewayCredentialsFile())

  await expect(dial(own)).rejects.toThrow(/authorization/i)
})

test('one credential has as many connections as a host needs, and no more', async () => {
  const { user, pair } = await another()
  const creds = fmtCreds(user, pair)
  const four = await Promise.all([1, 2, 3, 4].map(() => dial(creds)))
  await expect(dial(creds)).rejects.toThrow(/authorization/i)

  await four[0]?.close()
  await waitFor('its place to be free', () => dial(creds).then(() => true), QUICK_MS)
})

/** A credential of the same cell for another key, as a second host would have. */
async function another(
  host = 'edge-9',
): Promise<{ readonly user: string; readonly pair: KeyPair }> {
  const pair = createUser()
  const made = await cloud
    .as('admin')
    .post<{ token: string }>('/federation/v1/tokens', { cell: 'edge', host })
  const { body } = await cloud.as('admin').post<{ credential: string }>('/federation/v1/join', {
    token: made.body.token,
    public_key: pair.getPublicKey(),
    wire_versions: [1],
  })
  return { user: body.credential, pair }
}

test('a gateway that stops lets go of its peers at once, and takes them back', async () => {
  const { user, pair } = await another('edge-8')
  const peer = await dial(fmtCreds(user, pair))
  const gateway = cloud.gateways[0]!

  await gateway.stop()

  await waitFor('the peer to notice', () => peer.isClosed(), QUICK_MS)
  await gateway.start()
  await (await dial(fmtCreds(user, pair))).flush()
})

test('the bus of a cell elsewhere connects as a leaf node, and carries the longest messages', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'weir-uplink-'))
  const credentialsFile = join(directory, 'uplink.creds')
  writeFileSync(credentialsFile, fmtCreds(credential, key), { mode: 0o600 })
  const local = await createCellAccount(cellId, createAccount().getPublicKey())
  const account = { publicKey: local.publicKey, claims: cellAccount(cellId) }
  const nats = await startNats(directory, 'with-parent', { uplink: { credentialsFile, account } })
  await using stack = new AsyncDisposableStack()
  stack.defer(() => stopNats(directory))
  const log = createLogger('uplink', 'silent')
  const settings = { url: `${bus}/bus/leaf`, port: nats.leafPort }
  const uplink = await openUplink(settings, log)
  const creds = await issueCredentials('cell', local.seed, SERVER_SIDE_PERMISSIONS)
  const cell = await connect({
    servers: nats.url,
    authenticator: credsAuthenticator(Buffer.from(creds)),
  })
  stack.defer(() => cell.close())
  cell.subscribe(`cell.${cellId}.v1.echo`, {
    callback: (_error, message) => void message.respond(message.data),
  })
  const gateway = await connect({
    servers: cloud.foundation.services.natsUrl,
    authenticator: credsAuthenticator(
      readFileSync(await cloud.foundation.bus.gatewayCredentialsFile()),
    ),
  })
  stack.defer(() => gateway.close())
  const sent = Buffer.alloc(PAYLOAD_BYTES, 'weir')
  const echo = async () =>
    (await gateway.request(`cell.${cellId}.v1.echo`, sent, { timeout: 1_000 })).data
  const echoed = () => waitFor('the echo', () => echo().catch(() => undefined), 2 * QUICK_MS)

  expect(Buffer.compare(Buffer.from(await echoed()), sent)).toBe(0)

  // The link goes, and comes back by itself.
  await uplink[Symbol.asyncDispose]()
  expect(
    await echo().then(
      () => 'answered',
      () => 'lost',
    ),
  ).toBe('lost')
  stack.use(await openUplink(settings, log))
  expect(Buffer.compare(Buffer.from(await echoed()), sent)).toBe(0)
})
