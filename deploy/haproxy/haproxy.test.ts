import { once } from 'node:events'
import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect as connectTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { makeCertificate } from '#test/env/certificate.ts'
import { freePort } from '../process/free-port.ts'
import { isRunning } from '../process/process-identity.ts'
import { stopProcess } from '../process/stop-process.ts'
import { startProxy } from './haproxy.ts'

// Goal: the proxy sends requests to gateways that can serve them, and repeats those that a gateway gives back, wherever
// there is another gateway; where there is none, clients get what the gateways say.

/** What it answers to requests, and whether it wants more of them. */
interface Script {
  health: 200 | 500
  rotation: 200 | 404 | 500
  /** 'lost': the request arrives, and its answer is lost. A promise: it is answered 200 then. */
  answers: 200 | 425 | 'lost' | Promise<void>
}

const HEALTHY: Readonly<Script> = { health: 200, rotation: 200, answers: 200 }

/** A gateway that answers as the test says. */
class ScriptedGateway implements AsyncDisposable {
  readonly script: Script = { ...HEALTHY }
  readonly #name: string
  readonly #server: Server
  /** `METHOD HEADER` of each request, with the header by which the proxy says that it repeats requests. */
  requests: string[] = []

  constructor(name: string) {
    this.#name = name
    this.#server = createServer((request, response) => this.#answer(request, response))
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (request.url === '/healthz') response.writeHead(this.script.health).end()
    else if (request.url === '/rotation') response.writeHead(this.script.rotation).end()
    else {
      this.requests.push(`${request.method} ${String(request.headers['weir-proxy-repeats'])}`)
      const { answers } = this.script
      const answer = (status: number) =>
        response.writeHead(status, { 'Retry-After': '5' }).end(this.#name)
      if (answers === 'lost') request.socket.destroy()
      else if (typeof answers === 'number') answer(answers)
      else void answers.then(() => answer(200))
    }
  }
}

const one = new ScriptedGateway('one')
const other = new ScriptedGateway('other')
const both = [one, other]
const parts = new AsyncDisposableStack()
let gateways: readonly string[]
let proxy: string
let log: string

beforeAll(async () => {
  gateways = [await one.listen(), await other.listen()]
  for (const gateway of both) parts.use(gateway)
  const started = await start()
  proxy = started.url
  log = join(started.directory, 'haproxy.log')
})

/** A proxy before both gateways. */
async function start() {
  const directory = mkdtempSync(join(tmpdir(), 'weir-haproxy-'))
  parts.defer(() => rmSync(directory, { recursive: true, force: true }))
  const port = await freePort()
  const identity = await startProxy(directory, { host: '127.0.0.1', port, gateways }, 'with-parent')
  parts.defer(() => stopProcess(identity))
  return { identity, directory, url: `http://127.0.0.1:${port}` }
}

afterAll(() => parts.disposeAsync())

async function ask(method = 'GET', path = '/compute/v2.1/os-keypairs') {
  const sent = method === 'POST' || method === 'PUT' ? { method, body: '{}' } : { method }
  const answer = await fetch(`${proxy}${path}`, sent)
  const retryAfter = answer.headers.get('retry-after')
  return { status: answer.status, retryAfter, by: await answer.text() }
}

/** Who answers eight requests in a row. */
async function askedNow(): Promise<string> {
  const names = []
  for (let nth = 0; nth < 8; nth += 1) names.push((await ask()).by)
  return [...new Set(names)].toSorted().join(' ')
}

beforeEach(async () => {
  for (const gateway of both) Object.assign(gateway.script, HEALTHY)
  await expect.poll(askedNow).toBe('one other')
  for (const gateway of both) gateway.requests = []
})

test('a gateway out of rotation gets no requests until it is back', async () => {
  one.script.rotation = 404
  await expect.poll(askedNow).toBe('other')

  one.script.rotation = 200
  await expect.poll(askedNow).toBe('one other')
})

test('where all gateways are out of rotation, all of them get requests', async () => {
  one.script.rotation = 404
  await expect.poll(askedNow).toBe('other')
  other.script.rotation = 404

  await expect.poll(askedNow).toBe('one other')
})

test('where no gateway passes its checks, those that live get the requests', async () => {
  for (const gateway of both) Object.assign(gateway.script, { health: 500, rotation: 500 })
  const ends = ['gateways', 'gateways-once'].map(
    (name) => `backend ${name} has no server available`,
  )
  await expect.poll(() => ends.every((each) => readFileSync(log, 'utf8').includes(each))).toBe(true)

  for (const method of ['GET', 'POST', 'DELETE'])
    expect(await ask(method)).toMatchObject({ status: 200 })
  expect(await askedNow()).toBe('one other')

  // Requests do not tell whether the proxy believes in all gateways again.
  for (const gateway of both) Object.assign(gateway.script, HEALTHY)
  const backUp = [1, 2].flatMap((place) =>
    ['', '-cut-off'].map((end) => `Server gateways/gateway-${place}${end} is UP`),
  )
  await expect
    .poll(() => backUp.every((each) => readFileSync(log, 'utf8').includes(each)))
    .toBe(true)
})

test.each(['GET', 'POST', 'PATCH', 'DELETE'])(
  'a %s that a gateway gives back is served by another one',
  async (method) => {
    one.script.answers = 425

    for (let nth = 0; nth < 4; nth += 1) expect(await ask(method)).toMatchObject({ by: 'other' })
    expect(one.requests).toContain(`${method} 425`)
  },
)

test('a request that all gateways give back is answered 503 in the words of the last one', async () => {
  for (const gateway of both) gateway.script.answers = 425

  expect(await ask('POST')).toEqual({
    status: 503,
    retryAfter: '5',
    by: expect.stringMatching(/o/),
  })
  expect(Math.min(...both.map(({ requests }) => requests.length))).toBeGreaterThan(0)
})

test('a request whose answer is lost is repeated unless it may change something twice', async () => {
  one.script.answers = 'lost'

  for (const method of ['GET', 'DELETE', 'PUT', 'GET', 'DELETE', 'PUT'])
    expect(await ask(method)).toMatchObject({ status: 200, by: 'other' })
  // The proxy answers 502, or ends the connection.
  const outcomeOf = (method: string, path?: string) =>
    ask(method, path).then(
      ({ status }) => (status === 200 ? 'served' : 'lost'),
      () => 'lost',
    )
  for (const [method, path] of [
    ['POST'],
    ['PUT', '/networking/v2.0/routers/1/add_router_interface'],
    ['PUT', '/compute/v2.1/servers/1/os-volume_attachments/2'],
    ['PUT', '/image/v2/images/1/file'],
  ] as const) {
    const outcomes = [await outcomeOf(method, path), await outcomeOf(method, path)]
    expect(outcomes.toSorted()).toEqual(['lost', 'served'])
  }
})

test('a proxy shows the certificate NAME.crt, with the key NAME.key', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'weir-haproxy-'))
  parts.defer(() => rmSync(directory, { recursive: true, force: true }))
  const made = makeCertificate(directory)
  const [certificateFile, keyFile] = [join(directory, 'tls.crt'), join(directory, 'tls.key')]
  renameSync(made.certificateFile, certificateFile)
  renameSync(made.keyFile, keyFile)
  const port = await freePort()
  const options = {
    host: '127.0.0.1',
    port,
    gateways,
    tls: { certificateFile, caFile: certificateFile },
  }
  const identity = await startProxy(directory, options, 'with-parent')
  parts.defer(() => stopProcess(identity))

  const ca = readFileSync(certificateFile)
  const socket = connect({ host: '127.0.0.1', port, ca })
  await once(socket, 'secureConnect')
  expect(socket.authorized).toBe(true)
  socket.destroy()
})

/** True while there is a listener: a request might be held for as long as the one that is to end. */
function accepts(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  const socket = connectTcp(Number(port), hostname)
  const isOpen = once(socket, 'connect').then(
    () => true,
    () => false,
  )
  return isOpen.finally(() => socket.destroy())
}

test('a proxy that stops as its unit has it stop lets its requests end', async () => {
  const { identity, url } = await start()
  const held = Promise.withResolvers<void>()
  for (const gateway of both) gateway.script.answers = held.promise
  const asking = fetch(`${url}/compute/v2.1/os-keypairs`, { method: 'POST', body: '{}' })
  await expect.poll(() => [...one.requests, ...other.requests]).toHaveLength(1)

  const unit = readFileSync(join(import.meta.dirname, '../systemd/weir-haproxy.service'), 'utf8')
  const signal = /^KillSignal=(\w+)$/m.exec(unit)?.[1] as NodeJS.Signals
  process.kill(identity.pid, signal)
  await expect.poll(() => accepts(url)).toBe(false)
  held.resolve()

  expect(await asking).toMatchObject({ status: 200 })
  await expect.poll(() => isRunning(identity)).toBe(false)
})
