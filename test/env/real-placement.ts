import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { waitFor } from '#common/wait-for.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { logTail, startProcess } from '#deploy/process/start-process.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'
import type { ProviderTree } from '#gateway/app/placement/provider.ts'

const SERVE = '/usr/bin/placement-api'
const LIMIT_MS = 60_000
/** The newest of Debian 12's, and of Weir's. */
const MICROVERSION = 'placement 1.39'

/** Why Debian's Placement cannot run here; undefined when it can. */
export function whyNoPlacement(): string | undefined {
  return existsSync(SERVE) ? undefined : `not installed: ${SERVE} (python3-placement)`
}

export interface PlacementAnswer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

/** OpenStack's Placement over a database in a file, which believes that everybody is an administrator. */
export class RealPlacement implements AsyncDisposable {
  readonly #url: string
  readonly #logFile: string
  readonly #stop: () => Promise<void>

  private constructor(url: string, logFile: string, stop: () => Promise<void>) {
    this.#url = url
    this.#logFile = logFile
    this.#stop = stop
  }

  static async start(): Promise<RealPlacement> {
    const directory = mkdtempSync(join(tmpdir(), 'weir-placement-'))
    writeFileSync(join(directory, 'placement.conf'), configuration(directory))
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const logFile = join(directory, 'served.log')
    const served = await startProcess({
      command: SERVE,
      args: ['--host', '127.0.0.1', '--port', String(port)],
      env: { PATH: process.env['PATH'], OS_PLACEMENT_CONFIG_DIR: directory },
      directory,
      logFile,
      lifetime: 'with-parent',
    })
    const stop = async () => {
      await stopProcess(served)
      rmSync(directory, { recursive: true, force: true })
    }
    const placement = new RealPlacement(url, logFile, stop)
    const answers = async () => (await placement.ask('GET', '/')).status === 200
    await waitFor('Placement to answer', () => answers().catch(() => false), LIMIT_MS)
    return placement
  }

  async ask(method: 'GET' | 'POST' | 'PUT', path: string, body?: object): Promise<PlacementAnswer> {
    const answer = await request(this.#url + path, {
      method,
      headers: {
        ...{ 'content-type': 'application/json', 'x-auth-token': 'admin' },
        'openstack-api-version': MICROVERSION,
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const text = await answer.body.text()
    return {
      status: answer.statusCode,
      body: text === '' ? {} : (JSON.parse(text) as PlacementAnswer['body']),
    }
  }

  /** Afterwards it has these trees, with what consumers use of them. */
  async add(trees: readonly ProviderTree[]): Promise<void> {
    const names = new Set(trees.flat().flatMap(({ traits }) => traits))
    const own = (name: string) => name.startsWith('CUSTOM_')
    for (const name of [...names].filter(own)) await this.#put(`/traits/${name}`)
    const classes = new Set(trees.flat().flatMap(({ inventories }) => [...inventories.keys()]))
    for (const name of [...classes].filter(own)) await this.#put(`/resource_classes/${name}`)
    for (const tree of trees) for (const provider of tree) await this.#addProvider(provider)
  }

  async #addProvider(provider: ProviderTree[0]): Promise<void> {
    const { id, name, parentId, inventories, traits, aggregates } = provider
    const made = { uuid: id, name, ...(parentId !== null && { parent_provider_uuid: parentId }) }
    await this.#write('POST', '/resource_providers', made)
    const path = `/resource_providers/${id}`
    const amounts = [...inventories].map(([resourceClass, given]) => {
      const { total, reserved, allocationRatio, minUnit, maxUnit, stepSize } = given
      const units = { min_unit: minUnit, max_unit: maxUnit, step_size: stepSize }
      const inventory = { total, reserved, allocation_ratio: allocationRatio, ...units }
      return [resourceClass, inventory] as const
    })
    let generation: unknown = 0
    for (const [part, content] of [
      ['inventories', { inventories: Object.fromEntries(amounts) }],
      ['traits', { traits }],
      ['aggregates', { aggregates }],
    ] as const) {
      const written = { ...content, resource_provider_generation: generation }
      const answer = await this.#put(`${path}/${part}`, written)
      generation = answer['resource_provider_generation']
    }
    const used = [...inventories].flatMap(([resourceClass, given]) =>
      given.used === 0 ? [] : [[resourceClass, given.used] as const],
    )
    if (used.length === 0) return
    await this.#put(`/allocations/${crypto.randomUUID()}`, {
      allocations: { [id]: { resources: Object.fromEntries(used) } },
      ...{ project_id: 'p', user_id: 'u', consumer_generation: null, consumer_type: 'INSTANCE' },
    })
  }

  #put(path: string, body?: object): Promise<PlacementAnswer['body']> {
    return this.#write('PUT', path, body)
  }

  async #write(
    method: 'POST' | 'PUT',
    path: string,
    body?: object,
  ): Promise<PlacementAnswer['body']> {
    const { status, body: text } = await this.ask(method, path, body)
    if (status < 300) return text
    const said = `${JSON.stringify(body)} answered ${status}: ${JSON.stringify(text)}`
    throw new Error(`${method} ${path} ${said}\n${logTail(this.#logFile)}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop()
  }
}

function configuration(directory: string): string {
  return [
    '[api]\nauth_strategy = noauth2',
    `[placement_database]\nconnection = sqlite:///${directory}/placement.db\nsync_on_startup = true`,
    '[placement]\nrandomize_allocation_candidates = false\n',
  ].join('\n')
}
