import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { StubCollection, StubRefusal } from './stub-collection.ts'
import { type Asked, StubCompute, type StubServer } from './stub-compute.ts'
import { StubRouting } from './stub-routing.ts'

/** An event that replaces, precedes or follows the work of a request. */
export type Disturbance =
  | { readonly answer: number; readonly body?: string; readonly headers?: Record<string, string> }
  /** The connection breaks: before the work, or after it. */
  | { readonly lose: 'request' | 'answer' }
  /** The connection breaks, and the work is done so much later. */
  | { readonly late: number }
  | { readonly slow: number }
  /** The work is done, and answered with this all the same. */
  | { readonly workThen: number }
  /** The work is done, and its answer is cut off, of other types, or about something else. */
  | { readonly spoil: 'cut' | 'types' | 'ids' }

interface Rule {
  readonly what: RegExp
  readonly does: Disturbance
  skip: number
  times: number
}

type Handler = (
  match: readonly string[],
  body: Asked,
  query: URLSearchParams,
  content: string,
) => unknown

const TOKEN_LIFE_MS = 3_600_000

/** A small OpenStack under the control of a test: it stores servers, and disturbs requests. */
export class StubCloud implements AsyncDisposable {
  readonly networks = new StubCollection()
  readonly subnets = new StubCollection()
  readonly ports = new StubCollection(
    { fixed_ips: [], security_groups: [], device_id: '', device_owner: '' },
    ['mac_address'],
  )
  readonly routing = new StubRouting(this.ports)
  readonly groups = new StubCollection({ security_group_rules: [] })
  readonly images = new StubCollection({ status: 'queued' })
  readonly flavors = new StubCollection({}, ['name'])
  /** By their names. */
  readonly keypairs = new Set<string>()
  readonly compute = new StubCompute(this.ports, this.images)
  /** Every request, such as `GET /compute/servers/detail`, in order. */
  readonly asked: string[] = []
  /** Without a clock of its own it is asked for everything. */
  tellsTime = true
  /** The endpoint of Compute in its catalog; absent: this stub. */
  computeUrl: string | undefined
  /** The project's quota of servers; -1: none. */
  instancesMax = -1
  /** By credentials, the projects that they are for; others are for `project`. */
  readonly projects = new Map<string, string>()
  flavorsPerPage = Number.POSITIVE_INFINITY
  /** Every user may make flavors. */
  isAdministrator = false
  /** True: it presents itself as a Weir, and sends events to those who listen. */
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

  get servers(): Map<string, StubServer> {
    return this.compute.servers
  }

  /** The next requests whose method and path match, after so many that are not, are disturbed. */
  disturb(what: RegExp, does: Disturbance, times = 1, skip = 0): void {
    this.#rules.push({ what, does, times, skip })
  }

  /** Sends listeners an event of the server. */
  notify(serverId: string): void {
    this.#events += 1
    const data = JSON.stringify({ type: 'server.state', server_id: serverId })
    for (const listener of this.#listeners)
      listener.write(`id: ${this.#events}\nevent: server.state\ndata: ${data}\n\n`)
  }

  /** The same, and the streams end after its id. */
  breakNotifications(): void {
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
    const content = ['POST', 'PUT'].includes(request.method ?? '') ? await text(request) : ''
    const body = content.startsWith('{') ? (JSON.parse(content) as Asked) : {}
    response.sendDate = this.tellsTime
    const work = () => this.#work(what, body, url.searchParams, content)
    const rule = this.#ruleFor(what)
    if (this.isWeir) response.setHeader('x-weir-via', String(request.headers['x-weir-via']))
    if (rule === undefined && url.pathname === '/federation/v1/events')
      return this.#stream(request, response)
    if (rule === undefined) return this.#answer(response, work())
    this.#disturb(rule.does, work, request, response)
  }

  #ruleFor(what: string): Rule | undefined {
    const rule = this.#rules.find((each) => each.times > 0 && each.what.test(what))
    if (rule === undefined) return undefined
    if (rule.skip > 0) {
      rule.skip -= 1
      return undefined
    }
    rule.times -= 1
    return rule
  }

  #disturb(
    does: Disturbance,
    work: () => unknown,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    if ('slow' in does) {
      setTimeout(() => this.#answer(response, work()), does.slow)
      return
    }
    if ('spoil' in does) return this.#answer(response, work(), does.spoil)
    if ('workThen' in does) work()
    if ('answer' in does || 'workThen' in does) {
      const status = 'answer' in does ? does.answer : does.workThen
      const { headers = {}, body = '{"fault":{"message":"as told"}}' } =
        'answer' in does ? does : {}
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(body)
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

  #answer(response: ServerResponse, answer: unknown, spoil?: 'cut' | 'types' | 'ids'): void {
    const refusal = answer === undefined ? new StubRefusal(404, 'It is not here.') : answer
    if (refusal instanceof StubRefusal) {
      response.writeHead(refusal.status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ refusal: { code: refusal.status, message: refusal.message } }))
      return
    }
    const isToken = typeof answer === 'object' && answer !== null && 'token' in answer
    const headers = isToken ? { 'x-subject-token': `token-${this.#tokens}` } : {}
    const body = typeof answer === 'string' ? answer : JSON.stringify(spoiled(answer, spoil))
    const length = Buffer.byteLength(body)
    response.writeHead(isToken ? 201 : 200, {
      ...{ 'content-type': 'application/json', 'content-length': length },
      ...headers,
    })
    if (spoil !== 'cut') return void response.end(body)
    response.write(body.slice(0, length / 2), () => response.destroy())
  }

  #work(what: string, body: Asked, query: URLSearchParams, content: string): unknown {
    for (const [pattern, handler] of this.#handlers) {
      const match = pattern.exec(what)
      if (match !== null) return handler(match, body, query, content)
    }
    return undefined
  }

  readonly #handlers: readonly (readonly [RegExp, Handler])[] = [
    [/^POST \/v3\/auth\/tokens$/, (_match, _asked, _query, content) => this.#token(content)],
    [/^GET \/compute\/$/, () => ({ version: { version: '2.96', min_version: '2.1' } })],
    [
      /^GET \/compute\/flavors\/detail$/,
      (_match, _body, query) => this.#flavorsAfter(query.get('marker')),
    ],
    [/^POST \/compute\/flavors$/, (_match, asked) => this.#addFlavor(asked)],
    [/^GET \/compute\/limits$/, () => ({ limits: { absolute: this.#limits() } })],
    [/^GET \/compute\/servers\/detail$/, (_match, _body, query) => this.compute.list(query)],
    [/^POST \/compute\/servers$/, (_match, asked) => this.compute.create(asked)],
    [/^GET \/compute\/servers\/([^/]+)$/, ([, id]) => this.compute.show(id)],
    [
      /^PUT \/compute\/servers\/([^/]+)(?:\/metadata|\/tags)?$/,
      ([, id = ''], asked) => this.compute.change(id, asked),
    ],
    [/^DELETE \/compute\/servers\/([^/]+)$/, ([, id = '']) => this.compute.remove(id)],
    [
      /^POST \/compute\/servers\/([^/]+)\/action$/,
      ([, id = ''], asked) => this.compute.act(id, asked),
    ],
    [
      /^GET \/compute\/servers\/([^/]+)\/os-interface$/,
      ([, id = '']) => ({
        interfaceAttachments: this.compute.attached(id).map((port) => ({ port_id: port.id })),
      }),
    ],
    [
      /^POST \/compute\/servers\/([^/]+)\/os-interface$/,
      ([, id = ''], asked) => this.compute.attach(id, asked),
    ],
    [
      /^DELETE \/compute\/servers\/([^/]+)\/os-interface\/([^/]+)$/,
      ([, id = '', port = '']) => this.compute.detach(id, port),
    ],
    [/^POST \/compute\/os-keypairs$/, (_match, asked) => this.#addKeypair(asked)],
    [
      /^DELETE \/compute\/os-keypairs\/([^/]+)$/,
      ([, name = '']) => (this.keypairs.delete(name) ? {} : undefined),
    ],
    ...this.#collection('network/v2.0', 'network', 'networks', this.networks),
    ...this.#collection('network/v2.0', 'subnet', 'subnets', this.subnets),
    ...this.#collection('network/v2.0', 'port', 'ports', this.ports),
    ...this.#collection('network/v2.0', 'security_group', 'security_groups', this.groups),
    ...this.routing.handlers,
    ...this.#collection('image/v2', undefined, 'images', this.images),
    [
      /^PUT \/image\/v2\/images\/([^/]+)\/file$/,
      ([, id = ''], _body, _query, content) =>
        this.images.change(id, { status: 'active', size: content.length, content }) && {},
    ],
    [
      /^GET \/image\/v2\/images\/([^/]+)\/file$/,
      ([, id = '']) => this.images.items.get(id)?.['content'],
    ],
  ]

  /** `one`: what a single thing is wrapped in; undefined: in nothing. */
  #collection(
    base: string,
    one: string | undefined,
    many: string,
    collection: StubCollection,
  ): readonly (readonly [RegExp, Handler])[] {
    const path = `/${base}/${many.replace('_', '-')}`
    const inner = (body: Asked) =>
      one === undefined ? body : (body as Record<string, object>)[one]!
    const wrapped = (item: unknown) =>
      one === undefined || item === undefined || item instanceof StubRefusal
        ? item
        : { [one]: item }
    const named = `${path}/([^/]+)$`
    return [
      [new RegExp(`^GET ${path}$`), (_m, _b, query) => ({ [many]: collection.list(query) })],
      [new RegExp(`^POST ${path}$`), (_m, body) => wrapped(collection.make(inner(body)))],
      [new RegExp(`^GET ${named}`), ([, id = '']) => wrapped(collection.items.get(id))],
      [
        new RegExp(`^PUT ${named}`),
        ([, id = ''], body) => wrapped(collection.change(id, inner(body))),
      ],
      [new RegExp(`^DELETE ${named}`), ([, id = '']) => this.#delete(collection, id)],
    ]
  }

  /** A network that ports are on is kept, and takes its subnets with it. */
  #delete(collection: StubCollection, id: string): unknown {
    const query = new URLSearchParams({ network_id: id })
    if (this.ports.list(query).length > 0) return new StubRefusal(409, 'There are ports in use.')
    for (const subnet of this.subnets.list(query)) this.subnets.items.delete(subnet.id)
    return collection.items.delete(id) ? {} : undefined
  }

  #limits(): object {
    const used = [...this.servers.values()].filter(({ status }) => status !== 'DELETED').length
    return {
      ...LIMITS,
      totalCoresUsed: used,
      maxTotalInstances: this.instancesMax,
      totalInstancesUsed: used,
    }
  }

  #flavorsAfter(marker: string | null): object {
    const all = [...FLAVORS, ...this.flavors.list(new URLSearchParams())]
    const rest = all.slice(all.findIndex(({ id }) => id === marker) + 1)
    const hasMore = rest.length > this.flavorsPerPage
    return {
      flavors: rest.slice(0, this.flavorsPerPage),
      ...(hasMore && { flavors_links: [{ rel: 'next', href: 'elsewhere' }] }),
    }
  }

  #addFlavor(body: Asked): unknown {
    if (!this.isAdministrator) return new StubRefusal(403, 'Policy does not allow it.')
    const made = this.flavors.make((body as unknown as { readonly flavor: object }).flavor)
    return made instanceof StubRefusal ? made : { flavor: made }
  }

  #addKeypair(body: Asked): unknown {
    const { name } = (body as { readonly keypair: { readonly name: string } }).keypair
    if (this.keypairs.has(name)) return new StubRefusal(409, `Key pair '${name}' already exists.`)
    this.keypairs.add(name)
    return { keypair: { name } }
  }

  #token(content: string): object {
    const [, id = 'project'] =
      [...this.projects].find(([credential]) => content.includes(`"${credential}"`)) ?? []
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
        project: { id },
        user: { id: 'user' },
        catalog,
      },
    }
  }
}

const FLAVORS = [
  { id: '1', name: 'm1.tiny', vcpus: 1, ram: 128, disk: 1, swap: '' },
  { id: '2', name: 'm1.small', vcpus: 1, ram: 256, disk: 1, swap: '' },
]
const LIMITS = {
  maxTotalCores: 20,
  maxTotalRAMSize: -1,
  totalRAMUsed: 0,
}

/** The answer with every text a number, or every id another. */
function spoiled(answer: unknown, how: 'cut' | 'types' | 'ids' | undefined): unknown {
  if (how !== 'types' && how !== 'ids') return answer
  const text = JSON.stringify(answer, (key, value: unknown) => {
    if (how === 'types') return typeof value === 'string' ? value.length : value
    return key === 'id' || key === 'image_id' ? randomUUID() : value
  })
  return JSON.parse(text)
}
