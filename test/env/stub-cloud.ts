import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

/** What happens to a request instead of, before or after its work. */
export type Disturbance =
  | { readonly answer: number; readonly body?: string; readonly headers?: Record<string, string> }
  /** The connection breaks: before the work, or after it. */
  | { readonly lose: 'request' | 'answer' }
  /** The connection breaks, and the work is done so much later. */
  | { readonly late: number }
  | { readonly slow: number }

interface Rule {
  readonly what: RegExp
  readonly does: Disturbance
  times: number
}

export interface StubServer {
  readonly id: string
  readonly name: string
  readonly metadata: Readonly<Record<string, string>>
  status: string
  updated: number
}

type Handler = (match: readonly string[], body: Asked, query: URLSearchParams) => unknown

/** The parts of the bodies that the handlers read. */
interface Asked {
  readonly server?: { readonly name: string; readonly metadata: Record<string, string> }
  readonly 'os-stop'?: null
}

const POWER: Readonly<Record<string, number>> = { ACTIVE: 1, SHUTOFF: 4 }
const TOKEN_LIFE_MS = 3_600_000

/** A small OpenStack that does as it is told: it keeps servers, and disturbs requests. */
export class StubCloud implements AsyncDisposable {
  readonly servers = new Map<string, StubServer>()
  /** Every request, such as `GET /compute/servers/detail`, in order. */
  readonly asked: string[] = []
  /** Without a clock of its own it is asked for everything. */
  tellsTime = true
  /** Where its catalog says that Compute is; absent: here. */
  computeUrl: string | undefined
  /** It is another Weir: it says so, and tells of events those who listen. */
  isWeir = false
  /** The Last-Event-ID of everybody who came to listen; undefined: none. */
  readonly listened: (string | undefined)[] = []
  readonly #listeners = new Set<ServerResponse>()
  #events = 0
  readonly #rules: Rule[] = []
  readonly #http: Server
  #tokens = 0

  private constructor() {
    this.#http = createServer((request, response) => {
      void this.#serve(request, response)
    })
  }

  static async start(): Promise<StubCloud> {
    const cloud = new StubCloud()
    await new Promise<void>((resolve) => void cloud.#http.listen(0, '127.0.0.1', resolve))
    return cloud
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`
  }

  /** The next requests whose method and path match are disturbed. */
  disturb(what: RegExp, does: Disturbance, times = 1): void {
    this.#rules.push({ what, does, times })
  }

  /** Whoever listens is told that something has happened to the server. */
  tell(serverId: string): void {
    this.#events += 1
    const data = JSON.stringify({ type: 'server.state', server_id: serverId })
    for (const listener of this.#listeners)
      listener.write(`id: ${this.#events}\nevent: server.state\ndata: ${data}\n\n`)
  }

  /** The same, and the streams end after its id. */
  breakOffTelling(): void {
    this.#events += 1
    for (const listener of this.#listeners) listener.end(`id: ${this.#events}\n`)
  }

  /** The connections of those who listen break. */
  hangUp(): void {
    for (const listener of this.#listeners) listener.destroy()
  }

  calm(): void {
    this.#rules.length = 0
  }

  /** How many requests matched. */
  count(what: RegExp): number {
    return this.asked.filter((each) => what.test(each)).length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#http.closeAllConnections()
    await new Promise((resolve) => this.#http.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', this.url)
    const what = `${request.method} ${url.pathname}`
    this.asked.push(what)
    const body = request.method === 'POST' ? ((await json(request)) as Asked) : {}
    const work = () => this.#work(what, body, url.searchParams)
    const rule = this.#rules.find((each) => each.times > 0 && each.what.test(what))
    if (this.isWeir) response.setHeader('x-weir-via', String(request.headers['x-weir-via']))
    if (rule === undefined && url.pathname === '/federation/v1/events')
      return this.#stream(request, response)
    if (rule === undefined) return this.#answer(response, work())
    rule.times -= 1
    const { does } = rule
    if ('answer' in does) {
      response.writeHead(does.answer, { 'content-type': 'application/json', ...does.headers })
      response.end(does.body ?? '{"fault":{"message":"as told"}}')
      return
    }
    if ('slow' in does) {
      setTimeout(() => this.#answer(response, work()), does.slow)
      return
    }
    if ('late' in does) setTimeout(work, does.late)
    else if (does.lose === 'answer') work()
    request.socket.destroy()
  }

  #stream(request: IncomingMessage, response: ServerResponse): void {
    this.listened.push(request.headers['last-event-id']?.toString())
    this.#listeners.add(response)
    response.on('close', () => this.#listeners.delete(response))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`retry: 1000\n\nid: ${this.#events}\n\n`)
  }

  #answer(response: ServerResponse, answer: unknown): void {
    response.sendDate = this.tellsTime
    if (answer === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end('{"itemNotFound":{"code":404,"message":"It is not here."}}')
      return
    }
    const isToken = typeof answer === 'object' && answer !== null && 'token' in answer
    const headers = isToken ? { 'x-subject-token': `token-${this.#tokens}` } : {}
    response.writeHead(isToken ? 201 : 200, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(answer))
  }

  #work(what: string, body: Asked, query: URLSearchParams): unknown {
    for (const [pattern, handler] of this.#handlers) {
      const match = pattern.exec(what)
      if (match !== null) return handler(match, body, query)
    }
    return undefined
  }

  readonly #handlers: readonly (readonly [RegExp, Handler])[] = [
    [/^POST \/v3\/auth\/tokens$/, () => this.#token()],
    [/^GET \/compute\/$/, () => ({ version: { version: '2.96', min_version: '2.1' } })],
    [/^GET \/compute\/flavors\/detail$/, () => ({ flavors: [FLAVOR] })],
    [/^GET \/compute\/limits$/, () => ({ limits: { absolute: LIMITS } })],
    [/^GET \/compute\/servers\/detail$/, (_match, _body, query) => this.#list(query)],
    [/^POST \/compute\/servers$/, (_match, asked) => this.#create(asked)],
    [/^GET \/compute\/servers\/([^/]+)$/, ([, id]) => this.#show(id)],
    [/^DELETE \/compute\/servers\/([^/]+)$/, ([, id]) => this.#set(id, 'DELETED')],
    [
      /^POST \/compute\/servers\/([^/]+)\/action$/,
      ([, id], asked) => this.#set(id, 'os-stop' in asked ? 'SHUTOFF' : 'ACTIVE'),
    ],
  ]

  #token(): object {
    this.#tokens += 1
    const now = Date.now()
    const services = ['compute', 'image', 'network', ...(this.isWeir ? ['federation'] : [])]
    const catalog = services.map((type) => ({
      type,
      endpoints: [
        {
          interface: 'public',
          region_id: 'RegionOne',
          url:
            type === 'compute' ? (this.computeUrl ?? `${this.url}/compute`) : `${this.url}/${type}`,
        },
      ],
    }))
    return {
      token: {
        issued_at: new Date(now).toISOString(),
        expires_at: new Date(now + TOKEN_LIFE_MS).toISOString(),
        project: { id: 'project' },
        user: { id: 'user' },
        catalog,
      },
    }
  }

  #list(query: URLSearchParams): object {
    const since = query.get('changes-since')
    const servers = [...this.servers.values()].filter(({ status, updated }) =>
      since === null ? status !== 'DELETED' : updated >= Date.parse(since),
    )
    return { servers: servers.map(shown) }
  }

  #create({ server }: Asked): object {
    const id = randomUUID()
    const { name = '', metadata = {} } = server ?? {}
    this.servers.set(id, { id, name, metadata, status: 'ACTIVE', updated: Date.now() })
    return { server: { id } }
  }

  #show(id = ''): object | undefined {
    const server = this.servers.get(id)
    return server === undefined || server.status === 'DELETED'
      ? undefined
      : { server: shown(server) }
  }

  #set(id = '', status: string): object | undefined {
    const server = this.servers.get(id)
    if (server === undefined || server.status === 'DELETED') return undefined
    server.status = status
    server.updated = Date.now()
    return {}
  }
}

const FLAVOR = { id: '1', name: 'm1.tiny', vcpus: 1, ram: 128, disk: 1, swap: '' }
const LIMITS = {
  maxTotalCores: 20,
  totalCoresUsed: 0,
  maxTotalRAMSize: -1,
  totalRAMUsed: 0,
}

function shown({ id, name, metadata, status }: StubServer): object {
  return {
    id,
    name,
    metadata,
    status,
    created: '2026-01-01T00:00:00Z',
    flavor: { vcpus: 1, ram: 128 },
    'OS-EXT-STS:power_state': POWER[status] ?? 0,
    'OS-EXT-STS:task_state': null,
  }
}
