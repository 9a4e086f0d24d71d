import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RpcConnection } from './connection.ts'
import { encodePacket, PACKET_TYPES, type Packet, PacketFramer, PROGRAMS } from './packet.ts'
import { KEEPALIVE, PROCEDURES } from './procedures.ts'
import { XdrWriter } from './xdr-writer.ts'

const NOTHING = Buffer.alloc(0)

describe('RpcConnection', () => {
  const server = createServer()
  let peer: Socket
  let received: Packet[]
  let connection: RpcConnection
  let messages: number[]

  beforeEach(async () => {
    messages = []
    received = []
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const accepted = once(server, 'connection') as Promise<[Socket]>
    const onMessage = (procedure: number) => void messages.push(procedure)
    connection = await RpcConnection.open({ host: '127.0.0.1', port }, onMessage)
    ;[peer] = await accepted
    const framer = new PacketFramer()
    peer.on('data', (chunk) => received.push(...framer.push(chunk)))
  })
  afterEach(async () => {
    connection[Symbol.dispose]()
    peer.destroy()
    server.close()
    await once(server, 'close')
  })

  const answer = (serial: number, body: Buffer, status = 0) =>
    peer.write(
      encodePacket({ program: PROGRAMS.remote, procedure: 59, type: 1, serial, status, body }),
    )
  const receivedCount = (count: number) => expect.poll(() => received.length).toBe(count)

  test('call() gets its own answer, in any order of answers', async () => {
    const [first, second] = [1, 2].map(() =>
      connection.call(PROCEDURES.connectGetHostname, NOTHING),
    )
    await receivedCount(2)

    answer(received[1]!.serial, new XdrWriter().text('second').bytes())
    answer(received[0]!.serial, new XdrWriter().text('first').bytes())

    expect((await first!).text()).toBe('first')
    expect((await second!).text()).toBe('second')
  })

  test("call() throws the daemon's refusal, with its text as detail only", async () => {
    const calling = connection.call(PROCEDURES.domainLookupByUuid, NOTHING)
    await receivedCount(1)
    const error = new XdrWriter().int(42).int(10).optionalText('Domain not found: secret path')

    answer(received[0]!.serial, error.bytes(), 1)

    await expect(calling).rejects.toMatchObject({
      kind: 'not-found',
      message: 'The hypervisor refused the request.',
      detail: expect.stringContaining('secret path'),
    })
  })

  test('no more than five calls are on the wire at once', async () => {
    const calls = Array.from({ length: 8 }, () =>
      connection.call(PROCEDURES.connectGetHostname, NOTHING),
    )
    await receivedCount(5)

    answer(received[0]!.serial, new XdrWriter().text('a').bytes())

    await receivedCount(6)
    for (const call of calls.slice(1)) call.catch(() => undefined)
  })

  test('a ping is answered with a pong', async () => {
    const ping = { procedure: KEEPALIVE.ping, type: PACKET_TYPES.message, serial: 0, status: 0 }

    peer.write(encodePacket({ program: PROGRAMS.keepalive, ...ping, body: NOTHING }))

    await receivedCount(1)
    expect(received[0]).toMatchObject({ program: PROGRAMS.keepalive, procedure: KEEPALIVE.pong })
  })

  test('a pushed message reaches the listener', async () => {
    const pushed = { procedure: 318, type: PACKET_TYPES.message, serial: 0, status: 0 }

    peer.write(encodePacket({ program: PROGRAMS.remote, ...pushed, body: NOTHING }))

    await expect.poll(() => messages).toEqual([318])
  })

  test('an aborted call throws the reason and leaves the connection in order', async () => {
    const abort = new AbortController()
    const calling = connection.call(PROCEDURES.connectGetHostname, NOTHING, abort.signal)
    await receivedCount(1)
    const reason = new Error('enough')

    abort.abort(reason)

    await expect(calling).rejects.toBe(reason)
    const next = connection.call(PROCEDURES.connectGetHostname, NOTHING)
    await receivedCount(2)
    answer(received[0]!.serial, new XdrWriter().text('late').bytes())
    answer(received[1]!.serial, new XdrWriter().text('right').bytes())
    expect((await next).text()).toBe('right')
  })

  test('a peer that hangs up makes open and later calls unavailable', async () => {
    const calling = connection.call(PROCEDURES.connectGetHostname, NOTHING)
    await receivedCount(1)

    peer.destroy()

    await expect(calling).rejects.toMatchObject({ kind: 'unavailable' })
    const later = connection.call(PROCEDURES.connectGetHostname, NOTHING)
    await expect(later).rejects.toMatchObject({ kind: 'unavailable' })
    expect(connection.closed).toBe(true)
  })

  test.each([
    ['a length no packet has', Buffer.from([0xff, 0xff, 0xff, 0xff])],
    ['a length shorter than a header', Buffer.from([0, 0, 0, 4])],
  ])('%s ends the connection', async (_what, bytes) => {
    const calling = connection.call(PROCEDURES.connectGetHostname, NOTHING)
    await receivedCount(1)

    peer.write(bytes)

    await expect(calling).rejects.toMatchObject({ kind: 'unavailable' })
  })

  test('open() is unavailable where no daemon listens', async () => {
    const opening = RpcConnection.open({ path: '/nonexistent/socket' }, () => undefined)
    await expect(opening).rejects.toMatchObject({ kind: 'unavailable' })
  })

  test('openStream() carries bytes both ways, and ends when the daemon ends it', async () => {
    const opening = connection.openStream(
      PROCEDURES.domainOpenConsole,
      NOTHING,
      AbortSignal.timeout(5_000),
    )
    await receivedCount(1)
    const { serial } = received[0]!
    answer(serial, NOTHING)
    const stream = await opening
    const streamed = (body: Buffer, status: number) =>
      peer.write(
        encodePacket({ program: PROGRAMS.remote, procedure: 201, type: 3, serial, status, body }),
      )

    stream.write('ls')
    await receivedCount(2)
    streamed(Buffer.from('file'), 2)
    const [shown] = (await once(stream, 'data')) as [Buffer]
    const ended = once(stream, 'end')
    streamed(NOTHING, 0)
    await ended

    expect(received[1]).toMatchObject({ type: 3, status: 2, serial, body: Buffer.from('ls') })
    expect(shown.toString()).toBe('file')
    expect(connection.closed).toBe(true)
  })

  test('a stream that is not read is not received, however much is sent', async () => {
    const opening = connection.openStream(
      PROCEDURES.domainOpenConsole,
      NOTHING,
      AbortSignal.timeout(5_000),
    )
    await receivedCount(1)
    const { serial } = received[0]!
    answer(serial, NOTHING)
    const stream = await opening
    const body = Buffer.alloc(65_536)
    const packet = encodePacket({
      program: PROGRAMS.remote,
      procedure: 201,
      type: 3,
      serial,
      status: 2,
      body,
    })

    let sent = 0
    while (sent < 1_000 && peer.write(packet)) sent += 1
    while (sent < 1_000 && peer.writableLength < 2 ** 20) {
      peer.write(packet)
      sent += 1
      await new Promise(setImmediate)
    }

    expect(sent).toBeLessThan(1_000)
    expect(stream.readableLength).toBeLessThan(2 ** 20)
  })
})
