import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { callApi, type Session } from '#deploy/api/session.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { Checkout, type CommandResult } from '../env/checkout.ts'
import { OpenstackUser } from './openstack-user.ts'

type Account = Readonly<Record<string, string>>
/** Of the deployment. */
type Who = 'weir' | 'weir-admin'

/** The properties of a server, at the top or below, that the tests check. */
export interface ShownServer {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly metadata: Readonly<Record<string, string>>
  readonly description?: string | null
  readonly fault?: { readonly message: string; readonly details?: string }
  readonly 'OS-EXT-STS:task_state': string | null
}

const SERVERS = '/compute/v2.1/servers'
const NEWEST = { 'openstack-api-version': 'compute 2.96' }
const SETTINGS = ['projects=any', 'networks=127.0.0.0/8', 'allow_http=true', 'hypervisor_type=fake']

/** Two projects of a real OpenStack, made for a test, and a deployment that may have the first as a cell. Disposing ends both. */
export class NovaCell implements AsyncDisposable {
  readonly admin: OpenstackUser
  /** Members of the two projects. */
  readonly lab: OpenstackUser
  readonly other: OpenstackUser
  readonly checkout: Checkout
  readonly #directory: string
  readonly #made: readonly string[]
  #flavorId: string | undefined

  private constructor(
    admin: OpenstackUser,
    users: readonly OpenstackUser[],
    made: readonly string[],
  ) {
    this.admin = admin
    this.lab = users[0]!
    this.other = users[1]!
    this.#made = made
    this.#directory = mkdtempSync(join(tmpdir(), 'weir-clouds-'))
    const file = join(this.#directory, 'clouds.yaml')
    const entry = ({ login: { authUrl, user, password, project } }: OpenstackUser) => {
      const domains = { user_domain_name: 'Default', project_domain_name: 'Default' }
      const auth = { auth_url: authUrl, username: user, password, project_name: project }
      return { auth: { ...auth, ...domains } }
    }
    const clouds = { lab: entry(this.lab), other: entry(this.other) }
    writeFileSync(file, stringify({ clouds }))
    this.checkout = new Checkout(['env', `OS_CLIENT_CONFIG_FILE=${file}`])
  }

  static async start(account: Account): Promise<NovaCell> {
    const { auth_url: authUrl = '', user = '', password = '', project = '' } = account
    const admin = await OpenstackUser.signIn({ authUrl, user, password, project })
    const made: string[] = []
    const users = [await member(admin, authUrl, made), await member(admin, authUrl, made)]
    const cell = new NovaCell(admin, users, made)
    const port = String(await freePort())
    await cell.checkout.succeed('up', '--driver', 'fake', '--cells', '1', '--port', port)
    return cell
  }

  /** `./weir cell WHAT …` with the settings that the first project needs. */
  cell(what: readonly string[], ...more: readonly string[]): Promise<CommandResult> {
    const settings = SETTINGS.flatMap((setting) => ['--set', setting])
    return this.checkout.weir('cell', ...what, '--cloud', 'lab', ...settings, ...more)
  }

  /** Afterwards the user is a member of the first project too. */
  async addToLab({ login }: OpenstackUser): Promise<void> {
    const { users } = await this.admin.ask<{ users: readonly [{ id: string }] }>(
      'identity',
      'GET',
      `/users?name=${login.user}`,
    )
    await joinProject(this.admin, this.lab.projectId, users[0].id)
  }

  /** The name of a flavor there that asks for what no simulated host has. */
  async flavorOfNoHost(): Promise<string> {
    const name = `weir-nowhere-${randomUUID().slice(0, 8)}`
    const { flavor } = await this.admin.ask<{ flavor: { id: string } }>(
      'compute',
      'POST',
      '/flavors',
      { body: { flavor: { name, vcpus: 1, ram: 128, disk: 1 } } },
    )
    this.#flavorId = flavor.id
    await this.admin.ask('compute', 'POST', `/flavors/${flavor.id}/os-extra_specs`, {
      body: { extra_specs: { 'trait:HW_CPU_X86_SGX': 'required' } },
    })
    return name
  }

  /** As a user of the deployment, or its administrator. */
  async call<Answer>(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    { body, who = 'weir' }: { readonly body?: object; readonly who?: Who } = {},
  ): Promise<Answer> {
    const session: Session = await this.checkout.signIn(who)
    return callApi<Answer>(session, { method, path, body, headers: NEWEST })
  }

  /** The id of a new server in the cell. */
  async boot(
    name: string,
    flavor: string,
    more: object = { networks: 'none' },
    zone = 'lab',
  ): Promise<string> {
    const flavorRef = await this.#idOf('/compute/v2.1/flavors', 'flavors', flavor)
    const imageRef = await this.#idOf('/image/v2/images', 'images', 'tiny')
    const server = { name, flavorRef, imageRef, availability_zone: zone, ...more }
    return (await this.call<{ server: { id: string } }>('POST', SERVERS, { body: { server } }))
      .server.id
  }

  /** Whether a server of the flavor would now be sent to the cell's host. */
  async takes(flavorName: string): Promise<boolean> {
    const flavor = await this.#idOf('/compute/v2.1/flavors', 'flavors', flavorName)
    const image = await this.#idOf('/image/v2/images', 'images', 'tiny')
    const body = { flavor, image, host: 'lab-1' }
    const asked = { body, who: 'weir-admin' } as const
    const path = '/federation/v1/placements'
    return (await this.call<{ host: string | null }>('POST', path, asked)).host === 'lab-1'
  }

  /** The server as the deployment shows it; undefined once it is gone. */
  async top(id: string, who: Who = 'weir'): Promise<ShownServer | undefined> {
    const path = `${SERVERS}/detail?all_tenants=${who === 'weir-admin'}`
    const { servers } = await this.call<{ servers: readonly ShownServer[] }>('GET', path, { who })
    return servers.find((server) => server.id === id)
  }

  /** The same server as the OpenStack shows it. */
  async below(id: string): Promise<ShownServer | undefined> {
    const path = '/servers/detail'
    const { servers } = await this.lab.ask<{ servers: readonly ShownServer[] }>(
      'compute',
      'GET',
      path,
    )
    return servers.find(({ metadata }) => JSON.stringify(metadata).includes(id))
  }

  async #idOf(path: string, many: string, wanted: string): Promise<string> {
    type Named = readonly { readonly id: string; readonly name: string }[]
    const found = await this.call<Readonly<Record<string, Named>>>('GET', path)
    return found[many]!.find(({ name }) => name === wanted)!.id
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.checkout[Symbol.asyncDispose]()
    rmSync(this.#directory, { recursive: true, force: true })
    if (this.#flavorId !== undefined)
      await this.admin.ask('compute', 'DELETE', `/flavors/${this.#flavorId}`)
    for (const path of this.#made) await this.admin.ask('identity', 'DELETE', path)
  }
}

/** An ordinary user of a new project. `made`: what there is to be deleted afterwards. */
async function member(
  admin: OpenstackUser,
  authUrl: string,
  made: string[],
): Promise<OpenstackUser> {
  const name = `weir-${randomUUID().slice(0, 8)}`
  const password = randomUUID()
  type Made<What extends string> = Readonly<Record<What, { readonly id: string }>>
  const { project } = await admin.ask<Made<'project'>>('identity', 'POST', '/projects', {
    body: { project: { name } },
  })
  const { user } = await admin.ask<Made<'user'>>('identity', 'POST', '/users', {
    body: { user: { name, password } },
  })
  made.push(`/users/${user.id}`, `/projects/${project.id}`)
  await joinProject(admin, project.id, user.id)
  return OpenstackUser.signIn({ authUrl, user: name, password, project: name })
}

async function joinProject(admin: OpenstackUser, projectId: string, userId: string): Promise<void> {
  const { roles } = await admin.ask<{ roles: readonly { id: string }[] }>(
    'identity',
    'GET',
    '/roles?name=member',
  )
  await admin.ask('identity', 'PUT', `/projects/${projectId}/users/${userId}/roles/${roles[0]!.id}`)
}
