import { access, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { waitFor } from '#common/wait-for.ts'
import { runningHolder, writeHolder } from '../namespace/holder-file.ts'
import { type Holder, runInside } from '../namespace/namespace.ts'
import { programsDirectory } from '../paths.ts'
import { findProgram } from '../process/find-program.ts'

const STEP_MS = 20_000
const READY_MS = 30_000

/** The files and the namespaces of daemons of OVS and OVN. */
export interface DaemonPlace {
  readonly holder: Holder
  /** Short enough that a socket path below it fits (about 80 characters). */
  readonly directory: string
}

/**
 * Afterwards the folder belongs to these namespaces. Pid files of daemons in earlier namespaces are removed: their pids
 * belong to other processes now. True if there were any.
 */
export async function takeFolder({ holder, directory }: DaemonPlace): Promise<boolean> {
  await mkdir(directory, { recursive: true, mode: 0o711 })
  const before = await runningHolder(directory)
  if (before?.pid === holder.pid && before.startTime === holder.startTime) return false
  const stale = (await readdir(directory)).filter((name) => /\.(pid|ctl|sock|mgmt)$/.test(name))
  await Promise.all(stale.map((name) => rm(join(directory, name), { force: true })))
  await writeHolder(directory, holder)
  return true
}

/** Runs a program of OVS or OVN to its end, in the namespaces; returns its output. `more`: environment variables. */
export async function runOvn(
  { holder, directory }: DaemonPlace,
  program: string,
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const variables = { ...environment(directory), ...more }
  const env = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
  const command = ['-i', ...env, findProgram(program), ...args]
  return (await runInside(holder, 'env', command, { timeoutMs: STEP_MS })).stdout
}

/**
 * Afterwards the daemon runs in the background, under its own pid file; a running one is not touched. `env`: environment
 * variables besides those that tell it where its files are.
 */
export async function startDaemon(
  place: DaemonPlace,
  program: string,
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  if (await daemonRuns(place, name)) return
  const { directory } = place
  const options = [
    ...args,
    `--pidfile=${pidFile(directory, name)}`,
    `--log-file=${join(directory, `${name}.log`)}`,
    '-vconsole:off',
    '--detach',
    '--no-chdir',
  ]
  await runOvn(place, program, options, env)
}

/** Ends a daemon like a crash. */
export async function killDaemon(place: DaemonPlace, name: string): Promise<void> {
  const check = ['--signal', 'KILL', '--pidfile', pidFile(place.directory, name)]
  await runInside(place.holder, 'pkill', check, { timeoutMs: STEP_MS })
  await waitFor(`${name} to end`, async () => !(await daemonRuns(place, name)), READY_MS)
}

async function daemonRuns({ holder, directory }: DaemonPlace, name: string): Promise<boolean> {
  const file = pidFile(directory, name)
  if (!(await isThere(file))) return false
  const check = ['--pidfile', file]
  return runInside(holder, 'pgrep', check, { timeoutMs: STEP_MS }).then(
    () => true,
    () => false,
  )
}

/** Afterwards the database server runs with this database, which is created from its schema if it does not exist. */
export async function startDatabase(
  place: DaemonPlace,
  database: {
    readonly name: string
    readonly schema: string
    readonly socket: string
    /** Serves what the database itself says in its tables of connections and certificates, as `ovn-sbctl` writes them. */
    readonly connections?: { readonly of: string; readonly table: string }
  },
): Promise<void> {
  const { directory } = place
  const { name, schema, socket, connections } = database
  await mkdir(directory, { recursive: true, mode: 0o711 })
  const file = join(directory, `${name}.db`)
  if (!(await isThere(file)))
    await runOvn(place, 'ovsdb-tool', ['create', file, schemaFile(schema)])
  await startDaemon(place, 'ovsdb-server', name, [
    file,
    `--remote=punix:${socket}`,
    `--unixctl=${join(directory, `${name}.ctl`)}`,
    ...(connections === undefined ? [] : connectionOptions(connections)),
  ])
}

function connectionOptions({ of, table }: { readonly of: string; readonly table: string }) {
  const files = { 'private-key': 'private_key', certificate: 'certificate', 'ca-cert': 'ca_cert' }
  const tls = Object.entries(files).map(([option, column]) => `--${option}=db:${of},SSL,${column}`)
  return [`--remote=db:${of},${table},connections`, ...tls]
}

function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}

/** A package that is installed has its schemas in the system's folder, an unpacked one below `.weir`. */
function schemaFile(name: string): string {
  const root = findProgram('ovn-nbctl').startsWith(programsDirectory) ? programsDirectory : '/'
  return join(root, 'usr/share', name)
}

function pidFile(directory: string, name: string): string {
  return join(directory, `${name}.pid`)
}

/** Variables that tell the daemons where their files, and each other, are. */
function environment(directory: string): Readonly<Record<string, string>> {
  const folders = ['RUNDIR', 'DBDIR', 'LOGDIR', 'SYSCONFDIR'].flatMap(
    (folder): [string, string][] => [
      [`OVS_${folder}`, directory],
      [`OVN_${folder}`, directory],
    ],
  )
  const libraries = ['usr/lib/x86_64-linux-gnu', 'usr/lib/aarch64-linux-gnu', 'usr/lib']
  return {
    ...Object.fromEntries(folders),
    LC_ALL: 'C',
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    LD_LIBRARY_PATH: libraries.map((each) => join(programsDirectory, each)).join(':'),
  }
}
