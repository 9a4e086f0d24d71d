import { request } from 'undici'

export interface OpenstackLogin {
  readonly authUrl: string
  readonly user: string
  readonly password: string
  readonly project: string
}

type Service = 'compute' | 'identity' | 'image' | 'network'

interface Token {
  readonly project: { readonly id: string }
  readonly catalog: readonly {
    readonly type: string
    readonly endpoints: readonly { readonly interface: string; readonly url: string }[]
  }[]
}

interface Asked {
  readonly body?: object
  /** Of Compute. */
  readonly version?: string
}

const PATHS: Readonly<Record<Service, string>> = {
  compute: '',
  identity: '/v3',
  image: '/v2',
  network: '/v2.0',
}

/** A user of one project of an OpenStack, like any other client. */
export class OpenstackUser {
  readonly login: OpenstackLogin
  readonly projectId: string
  readonly #token: string
  readonly #endpoints: ReadonlyMap<string, string>

  private constructor(login: OpenstackLogin, text: string, token: Token) {
    this.login = login
    this.projectId = token.project.id
    this.#token = text
    this.#endpoints = new Map(
      token.catalog.map(({ type, endpoints }) => [
        type,
        endpoints.find((endpoint) => endpoint.interface === 'public')?.url ?? '',
      ]),
    )
  }

  static async signIn(login: OpenstackLogin): Promise<OpenstackUser> {
    const domain = { name: 'Default' }
    const user = { name: login.user, password: login.password, domain }
    const identity = { methods: ['password'], password: { user } }
    const scope = { project: { name: login.project, domain } }
    const { statusCode, headers, body } = await request(`${login.authUrl}/auth/tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ auth: { identity, scope } }),
    })
    if (statusCode !== 201) throw new Error(`sign-in: ${statusCode} ${await body.text()}`)
    const { token } = (await body.json()) as { token: Token }
    return new OpenstackUser(login, String(headers['x-subject-token']), token)
  }

  /** The answer of a request that succeeded; throws with the service's own words otherwise. */
  async ask<Answer>(
    service: Service,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    { body, version = '2.93' }: Asked = {},
  ): Promise<Answer> {
    const base = this.#endpoints
      .get(service)!
      .replace(/\/(v[\d.]+)?$/, (found) => (service === 'compute' ? found : ''))
    const answer = await request(`${base}${PATHS[service]}${path}`, {
      method,
      headers: {
        'x-auth-token': this.#token,
        'content-type': 'application/json',
        ...(service === 'compute' && { 'openstack-api-version': `compute ${version}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.body.text()
    if (answer.statusCode >= 300)
      throw new Error(`${method} ${path} of ${service}: ${answer.statusCode} ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as Answer
  }
}
