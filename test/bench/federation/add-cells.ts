import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import { secretsOf } from '#common/secrets.ts'
import { waitFor } from '#common/wait-for.ts'
import { callApi, type Session } from '#deploy/api/session.ts'
import { planCell } from '#deploy/deployment/plan.ts'
import { type CellRecord, existingState } from '#deploy/deployment/state.ts'
import { keyPair } from '#deploy/nats/nats-keys.ts'
import { projectRoot } from '#deploy/paths.ts'
import type { ProcessIdentity } from '#deploy/process/process-identity.ts'
import { startProcess } from '#deploy/process/start-process.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'
import { logFile, type Program } from '#deploy/processes/program.ts'
import { fillGlobalDatabase } from '#deploy/up/fill-global-database.ts'
import { issueCellCredentials, keepAccounts } from '#deploy/up/prepare-bus.ts'
import { prepareCellDatabases } from '#deploy/up/prepare-databases.ts'
import { cellPrograms, computePrograms, gatewayKeyFile } from '#deploy/up/programs.ts'
import { privateDatabases } from '#deploy/up/services.ts'
import { GLOBAL_DATABASE, type Product } from '../product.ts'

export interface CellsWanted {
  /** Of the two processes that are started: all cells in one, all hosts in the other. */
  readonly name: string
  readonly cells: readonly string[]
  readonly hostsPerCell: number
}

/** A cell as it may be entered from here, as another process of its own. */
export interface AddedCell {
  readonly id: CellId
  readonly databaseUrlFile: string
  readonly credentialsFile: string
}

export interface Added {
  readonly cells: readonly AddedCell[]
  readonly processes: Readonly<Record<string, ProcessIdentity>>
}

/** As many servers as anybody asks for: only their number is to count. */
const CAPACITY = { vcpus: '4096', memory_mb: '67108864', disk_gb: '1000000' } as const
/** So that all of them stay below what MariaDB takes. */
const CELL_CONNECTIONS = '3'
const READY_LIMIT_MS = 300_000

/** Afterwards the product has these cells, too, and all their hosts are up. `owned` ends their processes. */
export async function addCells(
  owned: AsyncDisposableStack,
  product: Product,
  admin: Session,
  wanted: CellsWanted,
): Promise<Added> {
  const { name, hostsPerCell } = wanted
  const gatewayKey = keyPair(product.nats.keys.gatewaySeed).getPublicKey()
  const cells = await Promise.all(
    wanted.cells.map((cell) => planCell(cell, hostsPerCell, gatewayKey)),
  )
  const programs = await programsOf(product, cells)
  const processes = {
    [`cells ${name}`]: await startTogether(product, `cells-${name}`, programs.cells),
    [`hosts ${name}`]: await startTogether(product, `hosts-${name}`, programs.computes),
  }
  for (const each of Object.values(processes)) owned.defer(() => stopProcess(each))
  await waitFor(
    `${cells.length} cells to have ${hostsPerCell} hosts up each`,
    () => areWhole(admin, wanted),
    READY_LIMIT_MS,
  )
  return { cells: programs.added, processes }
}

/** Afterwards databases, accounts and credentials of the cells are there. */
async function programsOf(
  { layout, mariadb, nats }: Product,
  cells: readonly CellRecord[],
): Promise<{
  readonly added: readonly AddedCell[]
  readonly cells: readonly Program[]
  readonly computes: readonly Program[]
}> {
  const state = { ...existingState(layout), cells }
  const databases = { cells: await prepareCellDatabases(layout, privateDatabases(mariadb), state) }
  const secrets = secretsOf(readFileSync(await gatewayKeyFile(layout), 'utf8'))
  const credentials = await issueCellCredentials(layout, state)
  await using db = new Database({ url: mariadb.rootUrl(GLOBAL_DATABASE), connectionsMax: 2 })
  await fillGlobalDatabase(layout, state, db, secrets)
  await keepAccounts(nats, db)
  const wiring = { bus: nats, databases, credentials: { of: credentials } }
  const settings = new Map(cells.flatMap(({ hosts }) => hosts.map(({ id }) => [id, CAPACITY])))
  return {
    added: cells.map(({ id }) => ({
      id,
      databaseUrlFile: databases.cells.get(id)!,
      credentialsFile: credentials.get(id)!,
    })),
    cells: (await cellPrograms(layout, state, wiring)).map((program) =>
      inOneProcess(program, { CELL_DATABASE_CONNECTIONS_MAX: CELL_CONNECTIONS }),
    ),
    computes: computePrograms(layout, state, wiring, settings).map((each) => inOneProcess(each)),
  }
}

/** Without metrics: what happens in a process is counted by each program in it, and so a thousand times. */
function inOneProcess(program: Program, more: Program['settings'] = {}): Program {
  const settings = Object.entries(program.settings).filter(([name]) => !name.includes('_METRICS_'))
  return { ...program, settings: { ...Object.fromEntries(settings), ...more } }
}

function startTogether(
  { layout }: Product,
  name: string,
  programs: readonly Program[],
): Promise<ProcessIdentity> {
  const file = join(layout.home, `${name}.json`)
  writeFileSync(file, JSON.stringify(programs), { mode: 0o600 })
  return startProcess({
    command: process.execPath,
    args: ['test/bench/federation/serve-together.ts', file],
    env: { PATH: process.env['PATH'], TZ: 'UTC' },
    directory: projectRoot,
    logFile: logFile(layout, name),
    lifetime: 'with-parent',
  })
}

interface CellShown {
  readonly name: string
  readonly is_alive: boolean
  readonly summary: { readonly hosts_up: number } | null
}

async function areWhole(
  admin: Session,
  { cells: wanted, hostsPerCell }: CellsWanted,
): Promise<boolean> {
  const { cells } = await callApi<{ cells: readonly CellShown[] }>(admin, {
    method: 'GET',
    path: '/federation/v1/cells',
  })
  const whole = cells.filter(
    ({ is_alive, summary }) => is_alive && summary?.hosts_up === hostsPerCell,
  )
  const names = new Set(whole.map(({ name }) => name))
  return wanted.every((name) => names.has(name))
}
