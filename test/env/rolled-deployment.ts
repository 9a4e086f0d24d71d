import { readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '#common/db/database.ts'
import { callApi, type Session } from '#deploy/api/session.ts'
import { startProxy } from '#deploy/haproxy/haproxy.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'
import { ApiClient } from './api/client.ts'
import { Checkout } from './checkout.ts'
import { type LoadedCloud, SteadyLoad } from './steady-load.ts'

const CELLS = ['north', 'south']
const UP = ['--driver', 'fake', '--gateways', '2', '--cells', '2', '--hosts', '1']

/** The databases of a `RolledDeployment`: that of the gateways, and that of each cell. */
export const DATABASES = ['weir', ...CELLS.map((name) => `weir_cell_${name}`)] as const
/** Its programs, in the order in which a newer release replaces them. */
export const ORDER: readonly string[] = [
  'gateway-1',
  'gateway-2',
  'cell-north',
  'cell-south',
  'compute-north-1',
  'compute-south-1',
]

/** A deployment of `./weir up` whose users boot servers through a proxy, while a test replaces its release by another. */
export class RolledDeployment implements AsyncDisposable {
  readonly checkout: Checkout
  readonly #owned = new AsyncDisposableStack()
  #load: SteadyLoad | undefined

  private constructor(checkout: Checkout) {
    this.checkout = this.#owned.use(checkout)
  }

  /** Brought up by the release in this folder. */
  static async up(root: string): Promise<RolledDeployment> {
    const checkout = new Checkout()
    checkout.runFrom(root)
    await checkout.succeed('up', ...UP)
    return new RolledDeployment(checkout)
  }

  /** Afterwards users boot servers, until the deployment is disposed. */
  async beginLoad(): Promise<SteadyLoad> {
    this.#load = await SteadyLoad.begin(await this.#loadedCloud(), await this.#proxy())
    return this.#load
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#load?.end()
    await this.#owned.disposeAsync()
  }

  /** A database of `DATABASES`. */
  open(name: string): Database {
    const url = readFileSync(join(this.checkout.home, 'secrets', `${name}.url`), 'utf8').trim()
    return new Database({ url, connectionsMax: 1 })
  }

  /** Those that gateways and cells say they are, also of the processes themselves. */
  async releases(): Promise<readonly string[]> {
    const gateways = await Promise.all(
      this.#origins().map(async (origin) => {
        const answer = await fetch(`${origin}/version`)
        return ((await answer.json()) as { version: string }).version
      }),
    )
    const { cells } = await callApi<{
      cells: readonly { readonly summary: { readonly release: string } }[]
    }>(await this.checkout.signIn('weir-admin'), { method: 'GET', path: '/federation/v1/cells' })
    return [...new Set([...gateways, ...cells.map(({ summary }) => summary.release)])]
  }

  /** Those from which all programs and the supervisor run. */
  async folders(): Promise<ReadonlySet<string>> {
    const pids = await this.checkout.processes()
    const all = [...ORDER.map((name) => pids.get(name)), this.checkout.supervisorPid()]
    if (all.includes(undefined))
      throw new Error(`Not all programs run: ${[...pids.keys()].join(', ')}`)
    return new Set(all.map((pid) => readlinkSync(`/proc/${pid}/cwd`)))
  }

  #ports(): readonly number[] {
    const state = JSON.parse(readFileSync(join(this.checkout.home, 'state.json'), 'utf8'))
    return (state as { gateways: readonly { port: number }[] }).gateways.map(({ port }) => port)
  }

  #origins(): readonly string[] {
    return this.#ports().map((port) => `http://127.0.0.1:${port}`)
  }

  async #proxy(): Promise<string> {
    const port = await freePort()
    const gateways = this.#ports().map((each) => `127.0.0.1:${each}`)
    const folder = join(this.checkout.home, 'haproxy')
    const identity = await startProxy(folder, { host: '127.0.0.1', port, gateways }, 'with-parent')
    this.#owned.defer(() => stopProcess(identity))
    return `http://127.0.0.1:${port}`
  }

  async #loadedCloud(): Promise<LoadedCloud> {
    const account = (name: 'weir' | 'weir-admin') => {
      const { username, password, project_name: project } = this.checkout.cloud(name)
      return { user: username, password, project }
    }
    const accounts = { demo: account('weir') }
    const origins = () => this.#origins()
    const clients = {
      admin: this.#owned.use(new ApiClient(account('weir-admin'), origins)),
      demo: this.#owned.use(new ApiClient(accounts.demo, origins)),
    }
    const session = await this.checkout.signIn('weir')
    const idOf = async (path: string, list: string, name: string) => idIn(session, path, list, name)
    const tiny = await idOf('/compute/v2.1/flavors', 'flavors', 'm1.tiny')
    return {
      as: (who) => clients[who as 'admin' | 'demo'],
      projectId: async (name) => {
        const { body } = await clients.admin.get<{ projects: readonly [{ id: string }] }>(
          `/identity/v3/projects?name=${name}`,
        )
        return body.projects[0].id
      },
      foundation: { accounts },
      catalog: {
        image: await idOf('/image/v2/images', 'images', 'tiny'),
        network: await idOf('/networking/v2.0/networks', 'networks', 'private'),
        tiny,
        small: tiny,
      },
    }
  }
}

/** The names of programs, in the order in which lines of this text begin with them. */
export function namesIn(said: string): readonly string[] {
  return said.split('\n').flatMap((line) => ORDER.find((name) => line.startsWith(`${name} `)) ?? [])
}

async function idIn(session: Session, path: string, list: string, name: string): Promise<string> {
  const answer = await callApi<Readonly<Record<string, readonly { id: string; name: string }[]>>>(
    session,
    { method: 'GET', path },
  )
  const found = answer[list]?.find((each) => each.name === name)
  if (found === undefined) throw new Error(`There is no ${name} among the ${list}`)
  return found.id
}
