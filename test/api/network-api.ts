import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { reportOvn } from '#test/env/network-objects.ts'
import {
  type HttpApi,
  type IdentityWorld,
  identityWorld,
  type Json,
  type Reply,
} from './identity-world.ts'
import { listOf, textOf } from './json.ts'

const NET = '/networking/v2.0'

export interface Refusal {
  readonly status: number
  readonly message: string
}

/** The network service of a gateway, with an administrator's and a user's token. */
export class NetworkApi implements AsyncDisposable {
  readonly http: HttpApi
  readonly admin: string
  readonly demo: string
  readonly adminProject: string
  readonly demoProject: string
  readonly #world: IdentityWorld
  #subnets = 0

  constructor(
    world: IdentityWorld,
    http: HttpApi,
    tokens: { readonly admin: string; readonly demo: string },
    projects: { readonly admin: string; readonly demo: string },
  ) {
    this.#world = world
    this.http = http
    this.admin = tokens.admin
    this.demo = tokens.demo
    this.adminProject = projects.admin
    this.demoProject = projects.demo
  }

  /** Afterwards a cell is known to have the network engine OVN. */
  connectOvn(): Promise<void> {
    return reportOvn(this.http.gateway.db)
  }

  ask(token: string, method: string, path: string, body?: object): Promise<Reply> {
    return this.http.ask(method, `${NET}/${path}`, { token, body })
  }

  /** A request for one revision of an object. */
  askFor(revision: number, method: string, path: string, body?: object): Promise<Reply> {
    const headers = { 'if-match': `revision_number=${revision}` }
    return this.http.ask(method, `${NET}/${path}`, { token: this.demo, body, headers })
  }

  /** The new object; `path` is the collection's. */
  async make(token: string, path: string, fields: object): Promise<Json> {
    const reply = await this.ask(token, 'POST', path, { [keyOf(path)]: fields })
    if (reply.status !== 201) throw new Error(`${path} answered ${JSON.stringify(reply.body)}`)
    return reply.body[keyOf(path)]!
  }

  async refusal(token: string, path: string, fields: object): Promise<Refusal> {
    const { status, body } = await this.ask(token, 'POST', path, { [keyOf(path)]: fields })
    return { status, message: textOf(body['NeutronError']?.['message']) }
  }

  async list(token: string, path: string, query = ''): Promise<readonly Json[]> {
    const reply = await this.ask(token, 'GET', `${path}?${query}`)
    if (reply.status !== 200) throw new Error(`${path} answered ${JSON.stringify(reply.body)}`)
    return listOf(reply.body[path.replaceAll('-', '_')])
  }

  network(token = this.demo, fields: object = {}): Promise<Json> {
    return this.make(token, 'networks', { name: 'net', ...fields })
  }

  /** A subnet of its own range. */
  async subnet(networkId: string, token = this.demo, fields: object = {}): Promise<Json> {
    this.#subnets += 1
    const cidr = `10.${this.#subnets}.0.0/24`
    return this.make(token, 'subnets', { network_id: networkId, ip_version: 4, cidr, ...fields })
  }

  async networkWithSubnet(token = this.demo, fields: object = {}): Promise<Json> {
    const made = await this.network(token, fields)
    await this.subnet(idOf(made), token)
    return made
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#world[Symbol.asyncDispose]()
  }
}

export async function networkApi(): Promise<NetworkApi> {
  const world = await identityWorld()
  const http = await world.addGateway({ GATEWAY_DATABASE_CONNECTIONS: '8' }, [
    'identity',
    'network',
    'federation',
  ])
  const { admin, demo } = world.passwords
  const made = await bootstrapIdentity(http.gateway.db, {
    adminPassword: admin,
    demoPassword: demo,
  })
  const tokens = {
    admin: await http.logIn('admin', admin),
    demo: await http.logIn('demo', demo),
  }
  const projects = { admin: made.adminProjectId, demo: made.demoProjectId }
  return new NetworkApi(world, http, tokens, projects)
}

export function idOf(object: Json): string {
  return textOf(object['id'])
}

/** The key of one object in bodies: `security-groups` hold each a `security_group`. */
export function keyOf(path: string): string {
  return path.replaceAll('-', '_').replace(/ies$/, 'y').replace(/s$/, '')
}
