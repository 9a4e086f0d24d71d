import { randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { findWriter } from '#common/db/cluster-nodes.ts'
import { joinDatabaseUrls, withDatabase } from '#common/db/database-url.ts'
import { waitFor } from '#common/wait-for.ts'
import { type GaleraStart, galeraRootUrl, startGaleraNode } from '#deploy/mariadb/galera-node.ts'
import type { GaleraCluster, GaleraMember } from '#deploy/mariadb/galera-options.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { isRunning, type ProcessIdentity } from '#deploy/process/process-identity.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'

const DEATH_LIMIT_MS = 30_000
const WHOLE_LIMIT_MS = 60_000
const PROBE_TIMEOUT_MS = 2_000

/** A Galera cluster of three nodes of one test's own. Nodes are named by their place, 0 to 2. */
export class TestGalera implements AsyncDisposable {
  readonly directory: string
  readonly cluster: GaleraCluster
  readonly #processes = new Map<number, ProcessIdentity>()

  private constructor(directory: string, cluster: GaleraCluster) {
    this.directory = directory
    this.cluster = cluster
  }

  /**
   * Afterwards all nodes are synced. `prepare` makes databases and tables on one node, whose data the others begin with: on
   * three nodes each change of a table takes several times as long.
   */
  static async start(prepare?: (rootUrl: string) => Promise<void>): Promise<TestGalera> {
    const directory = mkdtempSync(join(tmpdir(), 'weir-galera-'))
    const members = [await newMember('a'), await newMember('b'), await newMember('c')]
    const galera = new TestGalera(directory, { members, password: randomBytes(12).toString('hex') })
    try {
      await galera.#found(prepare)
      await Promise.all([galera.start(1), galera.start(2)])
    } catch (error) {
      await galera[Symbol.asyncDispose]()
      throw error
    }
    return galera
  }

  /** The others begin with a copy of the first node's data: a transfer between nodes takes 13 s each, 10 of them asleep. */
  async #found(prepare: (rootUrl: string) => Promise<void> = async () => undefined): Promise<void> {
    await this.start(0, 'found')
    await prepare(this.rootUrls[0]!)
    await this.stop(0)
    for (const place of [1, 2])
      cpSync(join(this.#home(0), 'data'), join(this.#home(place), 'data'), { recursive: true })
    await this.start(0, 'found')
  }

  /** Root's URLs of all nodes, each without a database. */
  get rootUrls(): readonly string[] {
    return this.cluster.members.map((member) => galeraRootUrl(this.cluster, member))
  }

  async start(place: number, start: GaleraStart = 'join'): Promise<void> {
    const member = this.cluster.members[place]!
    const options = { member, start, lifetime: 'with-parent' } as const
    this.#processes.set(place, await startGaleraNode(this.#home(place), this.cluster, options))
  }

  /** Ends the node in good order. */
  async stop(place: number): Promise<void> {
    await stopProcess(this.#process(place), DEATH_LIMIT_MS)
  }

  /** As by `kill -9`. */
  async kill(place: number): Promise<void> {
    const identity = this.#process(place)
    process.kill(identity.pid, 'SIGKILL')
    await waitFor(`node ${place} to die`, () => !isRunning(identity), DEATH_LIMIT_MS)
  }

  /** The node does nothing, and its connections stay open. */
  freeze(place: number): void {
    process.kill(this.#process(place).pid, 'SIGSTOP')
  }

  /** Cuts the node off from the others, or joins it to them again; its clients reach it. */
  async setPartitioned(place: number, isPartitioned: boolean): Promise<void> {
    const connection = await createConnection({ uri: this.rootUrls[place]! })
    const option = `gmcast.isolate=${isPartitioned ? 1 : 0}`
    await connection.query(`set global wsrep_provider_options = '${option}'`)
    await connection.end()
  }

  /** Afterwards every node is synced with the two others. */
  async whenWhole(): Promise<void> {
    const isWhole = async () => {
      for (const uri of this.rootUrls) {
        const connection = await createConnection({ uri, connectTimeout: PROBE_TIMEOUT_MS })
        const [rows] = await connection
          .query<RowDataPacket[]>(
            "show status where variable_name in ('wsrep_cluster_size', 'wsrep_local_state')",
          )
          .finally(() => connection.destroy())
        const seen = rows.map((row) => `${row['Variable_name']}=${row['Value']}`)
        if (seen.toSorted().join() !== 'wsrep_cluster_size=3,wsrep_local_state=4') return false
      }
      return true
    }
    await waitFor('the cluster to be whole', isWhole, WHOLE_LIMIT_MS)
  }

  /** The place of the node that takes all statements of the gateways now. */
  async writer(): Promise<number> {
    const database = await this.#gatewayDatabase()
    const urls = this.rootUrls.map((url) => withDatabase(url, database))
    return urls.indexOf(await findWriter(urls as [string, ...string[]], DEATH_LIMIT_MS))
  }

  /** Each database has an elected writer of its own. */
  async #gatewayDatabase(): Promise<string> {
    const uri = await findWriter(this.rootUrls as [string, ...string[]], DEATH_LIMIT_MS)
    const connection = await createConnection({ uri })
    try {
      const [[row]] = await connection.query<RowDataPacket[]>(
        "select table_schema as name from information_schema.tables where table_name = 'database_writer' and table_schema like 'weir%'",
      )
      if (row === undefined) throw new Error('There is no database of a gateway')
      return row['name'] as string
    } finally {
      await connection.end()
    }
  }

  /** Root's URL of a database of the cluster, with all nodes. */
  url(database: string): string {
    return withDatabase(joinDatabaseUrls(this.rootUrls as [string, ...string[]]), database)
  }

  thaw(place: number): void {
    process.kill(this.#process(place).pid, 'SIGCONT')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { pid } of [...this.#processes.values()].filter(isRunning))
      process.kill(pid, 'SIGKILL')
    const isOver = () => ![...this.#processes.values()].some(isRunning)
    await waitFor('the nodes to die', isOver, DEATH_LIMIT_MS)
    rmSync(this.directory, { recursive: true, force: true })
  }

  #process(place: number): ProcessIdentity {
    const identity = this.#processes.get(place)
    if (identity === undefined) throw new Error(`Node ${place} was never started`)
    return identity
  }

  #home(place: number): string {
    return join(this.directory, this.cluster.members[place]!.name)
  }
}

async function newMember(name: string): Promise<GaleraMember> {
  const [sql, group, ist, sst] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ]
  return { name, ports: { sql, group, ist, sst } }
}
