import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitFor } from '#common/wait-for.ts'
import { databaseUser } from '#deploy/mariadb/database-user.ts'
import { replicationOptions } from '#deploy/mariadb/replication-options.ts'
import { STANDBY_ACCOUNT, standbyAccount } from '#deploy/mariadb/standby-account.ts'
import { type Mariadb, startMariadb, stopMariadb } from '#deploy/mariadb.ts'
import { type NatsKeys, takeKeys } from '#deploy/nats/nats-keys.ts'
import { type Nats, startNats, stopNats } from '#deploy/nats.ts'
import { projectRoot } from '#deploy/paths.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { isRunning } from '#deploy/process/process-identity.ts'
import type { OwnSite } from '#deploy/standby/own-site.ts'
import { onServer } from '#deploy/standby/replication.ts'
import { OPERATOR_PERMISSIONS, SERVER_SIDE_PERMISSIONS } from '#gateway/bus/accounts.ts'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'
import type { Site } from '#gateway/db/sites.ts'
import type { Running } from './cloud/cloud-process.ts'
import { runOutside } from './cloud/run-outside.ts'

const DEATH_LIMIT_MS = 30_000

/** What the sites of a deployment have in common. */
export interface SharedBySites {
  readonly directory: string
  readonly secretKey: string
  /** Hexadecimal. */
  readonly password: string
  /** Absent for the first site, which makes them. */
  readonly keys?: NatsKeys
}

/** A site of a deployment: a MariaDB, a NATS and a gateway of its own, each of which dies with the site. */
export class TestSite implements AsyncDisposable {
  readonly name: string
  readonly port: number
  readonly #shared: SharedBySites
  readonly #number: number
  #mariadb: Mariadb
  #nats: Nats
  #gateway: Running | undefined

  private constructor(
    name: string,
    at: { readonly number: number; readonly port: number },
    shared: SharedBySites,
    services: { readonly mariadb: Mariadb; readonly nats: Nats },
  ) {
    this.name = name
    this.port = at.port
    this.#number = at.number
    this.#shared = shared
    this.#mariadb = services.mariadb
    this.#nats = services.nats
  }

  /** Afterwards database and bus run, and no gateway. */
  static async start(name: string, number: number, shared: SharedBySites): Promise<TestSite> {
    const home = join(shared.directory, name)
    mkdirSync(home, { recursive: true })
    if (shared.keys !== undefined) takeKeys(join(home, 'nats'), shared.keys)
    const [mariadb, nats] = await Promise.all([
      startMariadb(join(home, 'mariadb'), 'with-parent', replicationOptions(number)),
      startNats(join(home, 'nats'), 'with-parent'),
    ])
    const port = await freePort()
    const site = new TestSite(name, { number, port }, shared, { mariadb, nats })
    await databaseUser(mariadb.rootUrl(), 'weir', shared.password)
    await onServer(mariadb.rootUrl(), async (connection) => {
      for (const sql of standbyAccount(shared.password, { isEncrypted: false }))
        await connection.query(sql)
    })
    return site
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get keys(): NatsKeys {
    return this.#nats.keys
  }

  /** As the gateways reach it: they may not write where it is a copy. */
  get databaseUrl(): string {
    return `mysql://weir:${this.#shared.password}@127.0.0.1:${this.#mariadb.port}/weir`
  }

  get rootUrl(): string {
    return this.#mariadb.rootUrl('weir')
  }

  /** As the commands for it know it. */
  get own(): OwnSite {
    const urlAt = (server: string) =>
      `mysql://${STANDBY_ACCOUNT}:${this.#shared.password}@${server}/weir`
    return { name: this.name, urlAt, databaseUrl: urlAt(`127.0.0.1:${this.#mariadb.port}`) }
  }

  get record(): Site {
    return { name: this.name, url: this.url, databases: `127.0.0.1:${this.#mariadb.port}` }
  }

  /** Resolves once the gateway serves, or answers that its site is on standby. */
  async startGateway(as: 'active' | 'standby'): Promise<void> {
    const { directory, secretKey } = this.#shared
    const home = join(directory, this.name)
    const { keys, url, leafPort } = this.#nats
    const credentials = async (file: string, text: Promise<string>) => {
      writeFileSync(join(home, file), await text, { mode: 0o600 })
      return join(home, file)
    }
    const settings = {
      GATEWAY_SITE: this.name,
      GATEWAY_PROCESS: 'gateway-1',
      GATEWAY_PORT: String(this.port),
      GATEWAY_DATABASE_URL: this.databaseUrl,
      GATEWAY_SECRET_KEY: secretKey,
      GATEWAY_IMAGE_DIRECTORY: join(directory, 'images'),
      GATEWAY_AUDIT_DIRECTORY: join(home, 'audit'),
      GATEWAY_NATS_URL: url,
      GATEWAY_NATS_LEAF_URL: `nats://127.0.0.1:${leafPort}`,
      GATEWAY_NATS_CREDENTIALS_FILE: await credentials(
        'gateway.creds',
        issueCredentials('gateway', keys.gatewaySeed, SERVER_SIDE_PERMISSIONS),
      ),
      GATEWAY_NATS_OPERATOR_SEED: keys.operatorSeed,
      GATEWAY_NATS_SYSTEM_CREDENTIALS_FILE: await credentials(
        'system.creds',
        issueCredentials('gateway-operator', keys.systemSeed, OPERATOR_PERMISSIONS),
      ),
    }
    const program = {
      name: `gateway of ${this.name}`,
      script: 'gateway/main.ts',
      settings,
      wires: [],
      inside: () => Promise.reject(new Error('It runs outside')),
      serves: as === 'active' ? 'gateway listens' : 'gateway on standby',
    }
    const logFile = join(home, 'gateway.log')
    this.#gateway = await runOutside(program, settings, { logFile, root: projectRoot })
  }

  async stopGateway(): Promise<void> {
    await this.#gateway?.stop()
    this.#gateway = undefined
  }

  /** As by a loss of power. */
  async kill(): Promise<void> {
    const services = [this.#mariadb.process, this.#nats.process]
    for (const { pid } of services) process.kill(pid, 'SIGKILL')
    await this.#gateway?.kill()
    this.#gateway = undefined
    await waitFor('the site to die', () => !services.some(isRunning), DEATH_LIMIT_MS)
  }

  /** Afterwards database and bus run again, as they were. */
  async restartServices(): Promise<void> {
    const home = join(this.#shared.directory, this.name)
    const options = replicationOptions(this.#number)
    ;[this.#mariadb, this.#nats] = await Promise.all([
      startMariadb(join(home, 'mariadb'), 'with-parent', options),
      startNats(join(home, 'nats'), 'with-parent'),
    ])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopGateway()
    const home = join(this.#shared.directory, this.name)
    await Promise.all([stopMariadb(join(home, 'mariadb')), stopNats(join(home, 'nats'))])
  }
}

export function newSharedSecrets(): Pick<SharedBySites, 'secretKey' | 'password'> {
  return { secretKey: randomBytes(32).toString('hex'), password: randomBytes(12).toString('hex') }
}
