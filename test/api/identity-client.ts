import { expect } from 'vitest'
import { type HttpApi, passwordAuth, type Reply } from './identity-world.ts'

/** A resource as it is shown. */
export interface Shown {
  readonly id: string
  readonly name: string
  readonly [property: string]: unknown
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The holder of a token at one gateway. */
export class IdentityClient {
  readonly http: HttpApi
  readonly token: string

  constructor(http: HttpApi, token: string) {
    this.http = http
    this.token = token
  }

  send(method: Method, path: string, body?: unknown): Promise<Reply> {
    return this.http.ask(method, path, { token: this.token, body })
  }

  /** Sends, and expects the status; gives the message of a fault and '' of a success. */
  async expect(status: number, method: Method, path: string, body?: unknown): Promise<string> {
    const reply = await this.send(method, path, body)
    expect(reply.status, `${method} ${path}: ${JSON.stringify(reply.body)}`).toBe(status)
    return (reply.body['error']?.['message'] as string | undefined) ?? ''
  }

  /** Makes one of `/v3/<plural>`. */
  async create(plural: string, fields: object): Promise<Shown> {
    return this.#one('POST', 201, `/v3/${plural}`, plural, fields)
  }

  async update(plural: string, id: string, fields: object): Promise<Shown> {
    return this.#one('PATCH', 200, `/v3/${plural}/${id}`, plural, fields)
  }

  async show(plural: string, id: string): Promise<Shown> {
    return this.#one('GET', 200, `/v3/${plural}/${id}`, plural)
  }

  /** The entries of a list, under its name. */
  async list(
    path: string,
    key = (path.split('?')[0] ?? '').split('/').at(-1),
  ): Promise<readonly Shown[]> {
    const reply = await this.send('GET', path)
    expect(reply.status, `GET ${path}: ${JSON.stringify(reply.body)}`).toBe(200)
    return reply.body[key ?? ''] as unknown as readonly Shown[]
  }

  async #one(
    method: Method,
    status: number,
    path: string,
    plural: string,
    fields?: object,
  ): Promise<Shown> {
    const key = plural.endsWith('ies') ? `${plural.slice(0, -3)}y` : plural.slice(0, -1)
    const reply = await this.send(method, path, fields && { [key]: fields })
    expect(reply.status, `${method} ${path}: ${JSON.stringify(reply.body)}`).toBe(status)
    return reply.body[key] as unknown as Shown
  }
}

/** Logs in by the user's id, which needs no domain. */
export async function clientOf(
  http: HttpApi,
  userId: string,
  password: string,
  scope?: unknown,
): Promise<IdentityClient> {
  const reply = await http.ask('POST', '/v3/auth/tokens', {
    body: passwordById(userId, password, scope),
  })
  expect(reply.status, JSON.stringify(reply.body)).toBe(201)
  return new IdentityClient(http, reply.headers.get('x-subject-token') ?? '')
}

export function passwordById(id: string, password: string, scope?: unknown): object {
  return {
    auth: {
      identity: { methods: ['password'], password: { user: { id, password } } },
      ...(scope !== undefined && { scope }),
    },
  }
}

/** The first administrator, in a project of its own. */
export async function administrator(http: HttpApi, password: string): Promise<IdentityClient> {
  const reply = await http.ask('POST', '/v3/auth/tokens', {
    body: passwordAuth('admin', password),
  })
  return new IdentityClient(http, reply.headers.get('x-subject-token') ?? '')
}
