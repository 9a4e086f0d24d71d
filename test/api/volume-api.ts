import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import type { Microversion } from '#openapi/microversions.ts'
import {
  type HttpApi,
  type IdentityWorld,
  identityWorld,
  type Json,
  type Reply,
} from './identity-world.ts'
import { textOf } from './json.ts'

const VOLUME = '/volume/v3'

/** The block storage service of a gateway, with an administrator's and a user's token. */
export class VolumeApi implements AsyncDisposable {
  readonly http: HttpApi
  readonly tokens: { readonly admin: string; readonly demo: string }
  readonly projects: { readonly admin: string; readonly demo: string }
  readonly #world: IdentityWorld

  constructor(
    world: IdentityWorld,
    http: HttpApi,
    tokens: { readonly admin: string; readonly demo: string },
    projects: { readonly admin: string; readonly demo: string },
  ) {
    this.#world = world
    this.http = http
    this.tokens = tokens
    this.projects = projects
  }

  /** As the user `demo`. */
  demo(method: string, path: string, body?: object, version?: Microversion): Promise<Reply> {
    return this.#ask(this.tokens.demo, method, path, body, version)
  }

  /** As the administrator. */
  admin(method: string, path: string, body?: object, version?: Microversion): Promise<Reply> {
    return this.#ask(this.tokens.admin, method, path, body, version)
  }

  #ask(
    token: string,
    method: string,
    path: string,
    body?: object,
    version?: Microversion,
  ): Promise<Reply> {
    const headers = version === undefined ? {} : { 'openstack-api-version': `volume ${version}` }
    return this.http.ask(method, `${VOLUME}/${path}`, { token, body, headers })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#world[Symbol.asyncDispose]()
  }
}

export async function volumeApi(): Promise<VolumeApi> {
  const world = await identityWorld()
  const http = await world.addGateway({ GATEWAY_DATABASE_CONNECTIONS: '8' }, ['identity', 'volume'])
  const { admin, demo } = world.passwords
  const made = await bootstrapIdentity(http.gateway.db, {
    adminPassword: admin,
    demoPassword: demo,
  })
  const tokens = { admin: await http.logIn('admin', admin), demo: await http.logIn('demo', demo) }
  return new VolumeApi(world, http, tokens, {
    admin: made.adminProjectId,
    demo: made.demoProjectId,
  })
}

/** The only fault of a reply: its name, status and message. */
export function faultOf({ body }: { readonly body: Json }): readonly [string, number, string] {
  const [name = '', fault] = Object.entries(body)[0] ?? []
  return [name, Number(fault?.['code']), textOf(fault?.['message'])]
}
