import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { waitFor } from '#common/wait-for.ts'
import { findProgram, programPath } from '#deploy/process/find-program.ts'
import type { ProcessIdentity } from '#deploy/process/process-identity.ts'
import { startProcess } from '#deploy/process/start-process.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'
import { run } from '#drivers/run.ts'

const STEP_MS = 20_000
const NAMES = { OVN_Northbound: 'ovn-nb', OVN_Southbound: 'ovn-sb' } as const
const CLUSTERED = 'OVN_Northbound'

/** Undefined where tests can have a database; with CI set, a reason is an error instead. */
export function whyNoOvsdb(): string | undefined {
  const missing = ['ovsdb-server', 'ovsdb-tool', 'ovn-nbctl'].find(
    (name) => programPath(name) === undefined,
  )
  if (missing === undefined) return undefined
  if (process.env['CI'] === 'true') throw new Error(`OVSDB must run in CI, but: no ${missing}`)
  return `not installed: ${missing}`
}

/** A private OVSDB server with one empty database of OVN, which ends with the test's process. */
export class OvsdbServer implements AsyncDisposable {
  readonly folder: string
  readonly #file: string
  readonly #options: readonly string[]
  #process: ProcessIdentity | undefined

  private constructor(folder: string, file: string, options: readonly string[]) {
    this.folder = folder
    this.#file = file
    this.#options = options
  }

  /** `options` are the server's own, such as where else it listens. */
  static async start(
    name: keyof typeof NAMES,
    options: readonly string[] = [],
  ): Promise<OvsdbServer> {
    const folder = await mkdtemp(join(tmpdir(), 'weir-ovsdb-'))
    const file = join(folder, 'database')
    const tool = findProgram('ovsdb-tool')
    const schema = join(dirname(tool), `../share/ovn/${NAMES[name]}.ovsschema`)
    await run(tool, ['create', file, schema], { timeoutMs: STEP_MS })
    const server = new OvsdbServer(folder, file, options)
    await server.up()
    return server
  }

  /** The members of one cluster of the northbound database, the first of which is its first leader. */
  static async startCluster(size: number): Promise<OvsdbServer[]> {
    const tool = findProgram('ovsdb-tool')
    const schema = join(dirname(tool), `../share/ovn/${NAMES[CLUSTERED]}.ovsschema`)
    const servers: OvsdbServer[] = []
    for (let number = 1; number <= size; number += 1) {
      const folder = await mkdtemp(join(tmpdir(), 'weir-raft-'))
      const file = join(folder, 'database')
      const own = `unix:${join(folder, 'raft')}`
      const [first] = servers
      const args =
        first === undefined
          ? ['create-cluster', file, schema, own]
          : ['join-cluster', file, CLUSTERED, own, `unix:${join(first.folder, 'raft')}`]
      await run(tool, args, { timeoutMs: STEP_MS })
      const server = new OvsdbServer(folder, file, [])
      await server.up()
      servers.push(server)
      const isJoined = async () =>
        (await Promise.all(servers.map((each) => each.members()))).every(
          (members) => members === number,
        )
      // A server accepts connections before it is in the cluster: without its leader it would never get there.
      await waitFor(`member ${number} of the cluster`, isJoined, STEP_MS)
    }
    return servers
  }

  get socketPath(): string {
    return join(this.folder, 'socket')
  }

  get address(): string {
    return `unix:${this.socketPath}`
  }

  async up(): Promise<void> {
    this.#process = await startProcess({
      command: findProgram('ovsdb-server'),
      args: [
        `--remote=punix:${this.socketPath}`,
        `--unixctl=${join(this.folder, 'ctl')}`,
        ...['-vsyslog:off', '-vconsole:warn', ...this.#options, this.#file],
      ],
      env: { PATH: process.env['PATH'], OVS_RUNDIR: this.folder, OVN_RUNDIR: this.folder },
      directory: this.folder,
      logFile: join(this.folder, 'log'),
      lifetime: 'with-parent',
    })
    await waitFor('the OVSDB server', () => accepts(this.socketPath), STEP_MS)
  }

  /** Of a member of a cluster, such as `leader` or `follower`. */
  async role(): Promise<string> {
    return /^Role: (\w+)/m.exec(await this.#clusterStatus())?.[1] ?? ''
  }

  /** How many members the cluster has, as this one knows; 0 while it is none itself. */
  async members(): Promise<number> {
    const status = await this.#clusterStatus()
    const isMember = /^Status: cluster member$/m.test(status)
    return isMember ? [...status.matchAll(/^ +\w+ \(.* at /gm)].length : 0
  }

  async #clusterStatus(): Promise<string> {
    const command = ['-t', join(this.folder, 'ctl'), 'cluster/status', CLUSTERED]
    return (await run(findProgram('ovs-appctl'), command, { timeoutMs: STEP_MS })).stdout
  }

  /** Ends the server like a crash, freezes it, or lets it go on. */
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    if (this.#process !== undefined) process.kill(this.#process.pid, name)
  }

  async down(): Promise<void> {
    if (this.#process !== undefined) await stopProcess(this.#process)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down()
    await rm(this.folder, { recursive: true, force: true })
  }
}

async function accepts(path: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(path)
    socket.once('error', () => done(false))
    socket.once('connect', () => {
      socket.destroy()
      done(true)
    })
  })
}
