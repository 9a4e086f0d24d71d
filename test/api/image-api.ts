import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { checkedStream } from '../env/api/check-response.ts'
import { type HttpApi, type IdentityWorld, identityWorld, type Reply } from './identity-world.ts'
import { listOf, textOf } from './json.ts'

export const SIZE_MAX = 1_000_000

/** The image service of a gateway, with an administrator's and a user's token. */
export class ImageApi implements AsyncDisposable {
  readonly http: HttpApi
  readonly admin: string
  readonly demo: string
  readonly adminProject: string
  readonly demoProject: string
  readonly #world: IdentityWorld

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

  /** The id of a new raw image. */
  async create(token: string, draft: object = {}): Promise<string> {
    const body = { name: 'tiny', disk_format: 'raw', container_format: 'bare', ...draft }
    const reply = await this.http.ask('POST', '/image/v2/images', { token, body })
    if (reply.status !== 201) throw new Error(`create answered ${JSON.stringify(reply.body)}`)
    return textOf(reply.body['id'])
  }

  async upload(
    token: string,
    id: string,
    content: string | Buffer | ReadableStream<Uint8Array>,
    headers: Readonly<Record<string, string>> = {},
    where: 'file' | 'stage' = 'file',
  ): Promise<Response> {
    const type = { 'content-type': 'application/octet-stream' }
    return this.#stream('PUT', `${id}/${where}`, { ...auth(token), ...type, ...headers }, content)
  }

  /** The id of a new image with this content. */
  async active(token: string, content: Buffer, draft: object = {}): Promise<string> {
    const id = await this.create(token, draft)
    const { status } = await this.upload(token, id, content)
    if (status !== 204) throw new Error(`upload answered ${status}`)
    return id
  }

  /** One request of the image service. */
  ask(
    token: string,
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Reply> {
    return this.http.ask(method, `/image/v2${path}`, { token, body, headers })
  }

  show(token: string, id: string): Promise<Reply> {
    return this.http.ask('GET', `/image/v2/images/${id}`, { token })
  }

  async download(
    token: string,
    id: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    return this.#stream('GET', `${id}/file`, { ...auth(token), ...headers })
  }

  /** The ids of a page. */
  async listed(token: string, query: string): Promise<readonly string[]> {
    const reply = await this.http.ask('GET', `/image/v2/images?${query}`, { token })
    if (reply.status !== 200) throw new Error(`list answered ${JSON.stringify(reply.body)}`)
    return listOf(reply.body['images']).map((image) => textOf(image['id']))
  }

  /** Every file the store has. */
  async storedFiles(): Promise<readonly string[]> {
    const { imageDirectory } = this.http.gateway.config
    const folders = ['contents', 'incoming'].map((name) => join(imageDirectory, name))
    return (await Promise.all(folders.map((folder) => readdir(folder)))).flat()
  }

  async #stream(
    method: string,
    path: string,
    given: Readonly<Record<string, string>>,
    body?: string | Buffer | ReadableStream<Uint8Array>,
  ): Promise<Response> {
    const url = `http://cloud.test:8774/image/v2/images/${path}`
    const headers = new Headers(given)
    const init = { method, headers, body, duplex: 'half' } as RequestInit
    const response = await this.http.app.request(url, init)
    return checkedStream({ method, url, headers, body: undefined }, response)
  }

  /** The same service at another gateway of the deployment. */
  async atAnother(more: Readonly<Record<string, string>> = {}): Promise<ImageApi> {
    const http = await this.#world.addGateway(more, ['identity', 'image'])
    const { admin, demo, adminProject, demoProject } = this
    return new ImageApi(
      this.#world,
      http,
      { admin, demo },
      { admin: adminProject, demo: demoProject },
    )
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#world[Symbol.asyncDispose]()
  }
}

function auth(token: string): Readonly<Record<string, string>> {
  return { 'x-auth-token': token }
}

/** `more` settings of the gateway. */
export async function imageApi(more: Readonly<Record<string, string>> = {}): Promise<ImageApi> {
  const world = await identityWorld()
  const env = { GATEWAY_IMAGE_SIZE_MAX_BYTES: String(SIZE_MAX), ...more }
  const http = await world.addGateway(env, ['identity', 'image'])
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
  return new ImageApi(world, http, tokens, projects)
}
