import { join } from 'node:path'
import { waitFor } from '#common/wait-for.ts'
import {
  type Cluster,
  type ClusterMember,
  clusterLeafUrl,
  clusterUrl,
  type ServerTls,
  serverName,
} from '#deploy/nats/cluster.ts'
import { connectSystem } from '#deploy/nats/connect-system.ts'
import { type NatsKeys, natsKeys, takeKeys } from '#deploy/nats/nats-keys.ts'
import { type Nats, startNats, stopNats } from '#deploy/nats.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { isRunning } from '#deploy/process/process-identity.ts'

const SERVERS = 3
const FORMED_LIMIT_MS = 30_000
const DEATH_LIMIT_MS = 30_000
/** In which every server answers that has a route to the one that asks. */
const ANSWERS_MS = 300

interface ServerStatus {
  readonly server: { readonly name: string }
  readonly statsz: { readonly connections: number }
}

/** The bus of a deployment as a cluster of servers, each of which a test may kill, freeze and start again. */
export class BusCluster implements AsyncDisposable {
  readonly keys: NatsKeys
  readonly members: readonly ClusterMember[]
  readonly #directory: string
  readonly #all: Pick<Cluster, 'members' | 'tls'>
  readonly #servers: (Nats | undefined)[]

  constructor(directory: string, members: readonly ClusterMember[], tls?: ServerTls) {
    this.#directory = directory
    this.#all = { members, tls }
    this.members = members
    this.#servers = members.map(() => undefined)
    this.keys = natsKeys(this.directoryOf(0))
    for (const place of members.keys()) takeKeys(this.directoryOf(place), this.keys)
  }

  /** Of all servers, with commas between them. */
  get url(): string {
    return clusterUrl(this.#all)
  }

  get leafUrl(): string {
    return clusterLeafUrl(this.#all)
  }

  /** Of one server. */
  urlOf(place: number): string {
    return clusterUrl({ ...this.#all, members: this.members.slice(place, place + 1) })
  }

  directoryOf(place: number): string {
    return join(this.#directory, `nats-${place + 1}`)
  }

  /** Resolves when it takes connections; its routes may come later. */
  async start(place: number): Promise<void> {
    const cluster: Cluster = { ...this.#all, own: place }
    this.#servers[place] = await startNats(this.directoryOf(place), 'with-parent', { cluster })
  }

  /** As by `kill -9`. */
  async kill(place: number): Promise<void> {
    const server = this.#server(place)
    this.#servers[place] = undefined
    process.kill(server.process.pid, 'SIGKILL')
    await waitFor('the server to die', () => !isRunning(server.process), DEATH_LIMIT_MS)
  }

  /** As for an upgrade of the server. */
  async stop(place: number): Promise<void> {
    this.#servers[place] = undefined
    await stopNats(this.directoryOf(place))
  }

  /** Its connections stay open, and nothing comes from it until `thaw`. */
  freeze(place: number): void {
    process.kill(this.#server(place).process.pid, 'SIGSTOP')
  }

  thaw(place: number): void {
    process.kill(this.#server(place).process.pid, 'SIGCONT')
  }

  /** Resolves once this server has routes to so many others. */
  async waitForRoutes(place: number, others: number): Promise<void> {
    const hasRoutes = async () => (await this.#serversKnownTo(place)).length === others + 1
    await waitFor(`server ${place} to have ${others} routes`, hasRoutes, FORMED_LIMIT_MS)
  }

  /** How many programs are connected to this server. */
  async programsOn(place: number): Promise<number> {
    const name = serverName(this.keys, { members: this.members, own: place })
    const known = await this.#serversKnownTo(place)
    const own = known.find(({ server }) => server.name === name)
    // The one that asks is no program.
    return (own?.statsz.connections ?? 1) - 1
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers)
      if (server !== undefined && isRunning(server.process))
        process.kill(server.process.pid, 'SIGCONT')
    await Promise.all(this.members.map((_, place) => stopNats(this.directoryOf(place))))
  }

  async #serversKnownTo(place: number): Promise<readonly ServerStatus[]> {
    const system = await connectSystem(this.urlOf(place), this.keys.systemSeed)
    try {
      const options = { strategy: 'timer', maxWait: ANSWERS_MS } as const
      const answers: ServerStatus[] = []
      for await (const answer of await system.requestMany('$SYS.REQ.SERVER.PING', '', options))
        answers.push(answer.json<ServerStatus>())
      return answers
    } finally {
      await system.close()
    }
  }

  #server(place: number): Nats {
    const server = this.#servers[place]
    if (server === undefined) throw new Error(`Server ${place} of the cluster does not run`)
    return server
  }
}

/** Three servers on loopback that have found each other; `await using`, or dispose it. */
export async function startBusCluster(directory: string, tls?: ServerTls): Promise<BusCluster> {
  const members: ClusterMember[] = []
  for (let nth = 0; nth < SERVERS; nth += 1)
    members.push({
      address: '127.0.0.1',
      port: await freePort(),
      leafPort: await freePort(),
      routePort: await freePort(),
    })
  const cluster = new BusCluster(directory, members, tls)
  try {
    await Promise.all(members.map((_, place) => cluster.start(place)))
    for (const place of members.keys()) await cluster.waitForRoutes(place, SERVERS - 1)
    return cluster
  } catch (error) {
    await cluster[Symbol.asyncDispose]()
    throw error
  }
}
