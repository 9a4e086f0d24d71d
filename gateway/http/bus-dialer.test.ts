import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import type { ServerTls } from '#deploy/nats/cluster.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { makeCertificate, trust } from '#test/env/certificate.ts'
import { BusDialer } from './bus-dialer.ts'

const LIMIT_MS = 10_000
const stack: Disposable[] = []

afterEach(() => {
  for (const each of stack.splice(0)) each[Symbol.dispose]()
})

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'weir-dialer-'))
  stack.push({ [Symbol.dispose]: () => rmSync(directory, { recursive: true }) })
  return directory
}

/** A server that sends `greeting` to each who connects, or nothing. */
async function server(greeting: string | undefined) {
  const sockets = new Set<Socket>()
  const listener = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    if (greeting !== undefined) socket.write(greeting)
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  stack.push({
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy()
      listener.close()
    },
  })
  const { port } = listener.address() as AddressInfo
  return { url: `nats://127.0.0.1:${port}`, sockets }
}

async function dialled(dialer: BusDialer): Promise<string> {
  const { socket, info } = await dialer.dial(AbortSignal.timeout(LIMIT_MS))
  stack.push({ [Symbol.dispose]: () => socket.destroy() })
  return info.line
}

test('peers are divided among the servers that greet, and none goes to one that hangs or is down', async () => {
  const [one, hanging, two] = [
    await server('INFO one\r\n'),
    await server(undefined),
    await server('INFO two\r\n'),
  ]
  const down = `nats://127.0.0.1:${await freePort()}`
  const dialer = new BusDialer([one.url, hanging.url, down, two.url].join(','))

  const lines = []
  for (let nth = 0; nth < 4; nth += 1) lines.push(await dialled(dialer))

  expect(lines).toEqual(['INFO one', 'INFO two', 'INFO two', 'INFO two'])
  await expect.poll(() => [hanging, one, two].map(({ sockets }) => sockets.size)).toEqual([0, 1, 3])
})

/** A server that greets as one of NATS does that encrypts, and then says what it is told. */
async function encryptingServer(tls: ServerTls) {
  const key = readFileSync(tls.keyFile)
  const cert = readFileSync(tls.certificateFile)
  const listener = createServer((plain) => {
    plain.on('error', () => {})
    plain.write('INFO {"nonce":"n","tls_required":true}\r\n')
    const socket = new TLSSocket(plain, { isServer: true, key, cert })
    socket.on('error', () => {}).on('data', (bytes) => socket.write(bytes))
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  stack.push({ [Symbol.dispose]: () => void listener.close() })
  return `tls://127.0.0.1:${(listener.address() as AddressInfo).port}`
}

test('a server that encrypts is known by its certificate, and its peer does not encrypt again', async () => {
  const [own, others] = [scratch(), scratch()]
  const tls = makeCertificate(own)
  const other = makeCertificate(others, 'DNS:elsewhere.example')
  using _trusted = trust(tls)
  using _trustedToo = trust(other)
  const dialer = new BusDialer(await encryptingServer(tls))

  const { socket, info } = await dialer.dial(AbortSignal.timeout(LIMIT_MS))
  stack.push({ [Symbol.dispose]: () => socket.destroy() })
  socket.write('echoed')

  expect(info.line).toBe('INFO {"nonce":"n"}')
  expect(String(info.bytes)).toBe(`${info.line}\r\n`)
  expect(String((await once(socket, 'data'))[0])).toBe('echoed')
  const impostor = new BusDialer(await encryptingServer(other))
  await expect(impostor.dial(AbortSignal.timeout(LIMIT_MS))).rejects.toThrow()
})

test('a dial fails where no server greets in time, and leaves no connection', async () => {
  const hanging = await server(undefined)
  const dialer = new BusDialer(hanging.url)

  await expect(dialer.dial(AbortSignal.timeout(500))).rejects.toThrow()

  await expect.poll(() => hanging.sockets.size).toBe(0)
})
