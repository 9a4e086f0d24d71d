import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cloudAccount } from '#deploy/deployment/clouds-file.ts'
import { type Layout, layoutIn } from '#deploy/deployment/layout.ts'
import { type DeploymentState, saveState } from '#deploy/deployment/state.ts'
import { prepareHosts } from '#deploy/hypervisors/prepare-hosts.ts'
import { type Mariadb, runningMariadb, startMariadb } from '#deploy/mariadb.ts'
import { type Nats, runningNats, startNats } from '#deploy/nats.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'
import type { Program } from '#deploy/processes/program.ts'
import { prepareBus } from '#deploy/up/prepare-bus.ts'
import { prepareDatabases } from '#deploy/up/prepare-databases.ts'
import { computePrograms, serverPrograms } from '#deploy/up/programs.ts'
import { privateBus, privateDatabases } from '#deploy/up/services.ts'
import { bringUp } from '#deploy/up/up.ts'
import type { Account } from '../users/account.ts'
import { DatabaseClock, Disk } from './machine.ts'
import { type Member, ProgramMember, Service } from './member.ts'

/** A whole deployment, as `./weir up` starts it but for the second process of each cell and what faults need. */
export interface Deployment {
  readonly members: readonly Member[]
  readonly programs: readonly ProgramMember[]
  /** Where the gateways serve, by name. */
  readonly gateways: readonly { readonly name: string; readonly port: number }[]
  readonly admin: Account
  /** Of the database's root, who writes past every program. */
  readonly rootUrl: (database?: string) => string
  readonly databases: {
    readonly gateway: string
    readonly cells: readonly {
      readonly id: string
      readonly name: string
      readonly database: string
    }[]
  }
  /** By the host's name, the file its guests are kept in. */
  readonly guestFiles: Readonly<Record<string, string>>
  /** Where gateways keep audit records until the database has them. */
  readonly auditDirectory: string
  /** On the small disk, which is gone with the namespace. */
  readonly databaseLog: string
  readonly disk: Disk
}

const UP = { driver: 'fake', cells: 2, hosts: 2, gateways: 2 } as const
const HOSTS_GUESTS = 'guests.jsonl'

/** Starts one in a folder that is there. Nothing is stopped in the end: it dies with the process namespace it is in. */
export async function startDeployment(
  folder: string,
  progress: (line: string) => void,
): Promise<Deployment> {
  const layout = layoutIn(folder)
  mkdirSync(layout.mariadb, { mode: 0o700 })
  const disk = Disk.mount(layout.mariadb)
  const databaseClock = new DatabaseClock(folder)
  const { state } = await bringUp(layout, { ...UP, port: await freePort() }, progress)
  await Promise.all(Object.values(state.processes).map((identity) => stopProcess(identity)))
  saveState(layout, { ...state, processes: {} })
  const mariadb = must(runningMariadb(layout.mariadb))
  const nats = must(runningNats(layout.nats))
  const programs = await wirePrograms(layout, state, { mariadb, nats })
  await Promise.all(programs.map((program) => program.keepUp()))
  return {
    members: [...programs, ...services(layout, databaseClock)],
    programs,
    gateways: state.gateways,
    admin: cloudAccount(layout, 'weir-admin'),
    rootUrl: (database) => mariadb.rootUrl(database),
    databases: {
      gateway: 'weir',
      cells: state.cells.map(({ id, name }) => ({ id, name, database: `weir_cell_${name}` })),
    },
    guestFiles: Object.fromEntries(
      state.cells.flatMap(({ hosts }) =>
        hosts.map(({ name }) => [name, join(layout.hosts, name, HOSTS_GUESTS)]),
      ),
    ),
    auditDirectory: join(layout.images, 'audit'),
    databaseLog: join(layout.mariadb, 'mariadb.log'),
    disk,
  }
}

async function wirePrograms(
  layout: Layout,
  state: DeploymentState,
  { mariadb, nats }: { readonly mariadb: Mariadb; readonly nats: Nats },
): Promise<readonly ProgramMember[]> {
  const credentials = await prepareBus(layout, nats, state)
  const databases = await prepareDatabases(layout, privateDatabases(mariadb), state)
  const wiring = { bus: privateBus(nats), credentials, databases }
  const servers = await serverPrograms(layout, state, wiring)
  const { settings } = await prepareHosts(layout, state, () => {})
  const computes = computePrograms(layout, state, wiring, settings)
  const gateways = servers.filter(({ script }) => script.startsWith('gateway/'))
  const cells = servers.filter(({ script }) => script.startsWith('cells/'))
  return Promise.all([
    ...gateways.map((program) => ProgramMember.open(program, 'gateway', layout.home)),
    ...[...cells, ...cells.map(secondOf)].map((program) =>
      ProgramMember.open(program, 'cell', layout.home),
    ),
    ...computes.map((program) => ProgramMember.open(program, 'compute', layout.home)),
  ])
}

/** Another process of the same cell. */
function secondOf({ name, script, settings }: Program): Program {
  const second = `${name}-b`
  return { name: second, script, settings: { ...settings, CELL_PROCESS: second } }
}

function services(layout: Layout, clock: DatabaseClock): readonly Member[] {
  return [
    new Service('mariadb', 'database', {
      start: () => startMariadb(layout.mariadb, 'detached'),
      identity: () => identityIn(`${layout.mariadb}/settings.json`),
      moveClock: (aheadMs) => clock.move(aheadMs),
    }),
    new Service('nats', 'bus', {
      start: () => startNats(layout.nats, 'detached'),
      identity: () => identityIn(`${layout.nats}/settings.json`),
    }),
  ]
}

/** The process a service's own file names. */
function identityIn(file: string) {
  const { process } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly process?: { readonly pid: number; readonly startTicks: number }
  }
  return process
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('The deployment does not run')
  return value
}
