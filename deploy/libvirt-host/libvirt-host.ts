import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { type RunOptions, type RunResult } from '#drivers/run.ts'
import { removeHolder, runningHolder, writeHolder } from '../namespace/holder-file.ts'
import { endNamespace, type Holder, runInside, startNamespace } from '../namespace/namespace.ts'
import { findProgram } from '../process/find-program.ts'
import { clearRunFolders, FILES, FOLDERS, writeConfigFiles } from './config-files.ts'

export interface LibvirtHostOptions {
  /** Everything of the host lies here. Short enough that a socket path below it fits (about 80 characters). */
  readonly directory: string
  /** Its host name, as its hypervisor reports it. */
  readonly name: string
  /** Where the host's Open vSwitch has its sockets, for guests that are plugged into it; absent: there is none. */
  readonly openvswitch?: string
}

export interface RunningLibvirtHost {
  readonly name: string
  /** The process that holds the host's namespaces; everything of the host ends with it. */
  readonly holder: Holder
  readonly socketPath: string
  /** For the driver's settings. */
  readonly uri: string
  /** Runs a command in the host's namespaces, such as a request to a guest's address. */
  run(command: string, args: readonly string[], options: RunOptions): Promise<RunResult>
  /** Ends the daemon and restarts it; guests run on. */
  restartDaemon(): Promise<void>
  /** Ends the daemon alone; guests run on, and `startLibvirtHost` finds them again. */
  stopDaemon(): Promise<void>
  /** Ends the host with its guests, and exactly that. Their disks and definitions stay for the next start. */
  stop(): Promise<void>
}

const STEP_TIMEOUT_MS = 20_000
const READY_TIMEOUT_MS = 60_000
const POLL_MS = 25
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const OPENVSWITCH_FOLDER = '/run/openvswitch'

/**
 * Afterwards a libvirt daemon of its own runs, in namespaces of its own, with its state under `directory`. Started
 * over a host that still runs, it finds that host, guests included. Nothing of the machine's own network, firewall
 * or libvirt is used or changed. Needs root and `LIBVIRT_PACKAGES`.
 */
export async function startLibvirtHost(options: LibvirtHostOptions): Promise<RunningLibvirtHost> {
  const directory = resolve(options.directory)
  await mkdir(directory, { recursive: true, mode: 0o711 })
  const holder = (await runningHolder(directory)) ?? (await startHolder(directory, options))
  const socketPath = join(directory, 'run', 'libvirt-sock')
  const environment = environmentOf(options)
  await startDaemons(holder, socketPath, environment)
  return {
    name: options.name,
    holder,
    socketPath,
    uri: `qemu+unix:///system?socket=${encodeURIComponent(socketPath)}`,
    run: (command, args, runOptions) => runInside(holder, command, args, runOptions),
    restartDaemon: async () => {
      await endDaemon(holder)
      await startDaemons(holder, socketPath, environment)
    },
    stopDaemon: () => endDaemon(holder),
    stop: async () => {
      await endNamespace(holder)
      await removeHolder(directory)
    },
  }
}

/** Ends the host whose state is under `directory`, if it runs: for processes that did not start it. */
export async function stopLibvirtHost(directory: string): Promise<void> {
  const holder = await runningHolder(resolve(directory))
  if (holder !== undefined) await endNamespace(holder)
  await removeHolder(resolve(directory))
}

/** The process that holds the host whose state is under `directory`; undefined when it does not run. */
export async function libvirtHostPid(directory: string): Promise<number | undefined> {
  return (await runningHolder(resolve(directory)))?.pid
}

async function startHolder(
  directory: string,
  { name, openvswitch }: LibvirtHostOptions,
): Promise<Holder> {
  await clearRunFolders(directory)
  await writeConfigFiles(directory, { name, uuid: hostUuid(directory) })
  const holder = await startNamespace()
  try {
    const inside = (command: string, ...args: string[]) =>
      runInside(holder, command, args, { timeoutMs: STEP_TIMEOUT_MS })
    await inside('hostname', name)
    await inside('ip', 'link', 'set', 'lo', 'up')
    const folders = Object.entries(FOLDERS).map(([own, place]) => [join(directory, own), place])
    if (openvswitch !== undefined) folders.push([resolve(openvswitch), OPENVSWITCH_FOLDER])
    for (const [own, place] of folders as [string, string][]) {
      await mkdir(own, { recursive: true, mode: 0o711 })
      await mkdir(place, { recursive: true })
      await inside('mount', '--bind', own, place)
    }
    for (const [own, place] of Object.entries(FILES))
      await inside('mount', '--bind', join(directory, own), place)
    await writeHolder(directory, holder)
    return holder
  } catch (error) {
    await endNamespace(holder)
    throw error
  }
}

/** libvirtd runs `ovs-vsctl` from its PATH, and that looks for the switch in the usual folder. */
function environmentOf({ openvswitch }: LibvirtHostOptions): Readonly<Record<string, string>> {
  const tools = openvswitch === undefined ? '' : `:${dirname(findProgram('ovs-vsctl'))}`
  return { PATH: `${PATH}${tools}`, LC_ALL: 'C' }
}

/** Each daemon refuses to start twice over its own pid file, so this only starts what does not run. */
async function startDaemons(
  holder: Holder,
  socketPath: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  for (const daemon of ['virtlogd', 'libvirtd']) {
    if (await daemonRuns(holder, daemon)) continue
    await runInside(holder, daemon, ['--daemon', '--pid-file', pidFile(daemon)], {
      timeoutMs: STEP_TIMEOUT_MS,
      env,
    })
  }
  const deadline = performance.now() + READY_TIMEOUT_MS
  while (!(await answers(socketPath))) {
    if (performance.now() > deadline) throw new Error(`libvirtd did not come up at ${socketPath}`)
    await new Promise((done) => setTimeout(done, POLL_MS))
  }
}

async function endDaemon(holder: Holder): Promise<void> {
  const deadline = performance.now() + STEP_TIMEOUT_MS
  while (await daemonRuns(holder, 'libvirtd')) {
    if (performance.now() > deadline) throw new Error('libvirtd does not end')
    await runInside(holder, 'pkill', ['--pidfile', pidFile('libvirtd')], {
      timeoutMs: STEP_TIMEOUT_MS,
    }).catch(() => undefined) // It ended in between.
    await new Promise((done) => setTimeout(done, POLL_MS))
  }
}

async function daemonRuns(holder: Holder, daemon: string): Promise<boolean> {
  const check = ['--pidfile', pidFile(daemon), '--exact', daemon]
  return runInside(holder, 'pgrep', check, { timeoutMs: STEP_TIMEOUT_MS }).then(
    () => true,
    () => false,
  )
}

async function answers(socketPath: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(socketPath)
    socket.once('connect', () => done(true)).once('error', () => done(false))
    socket.once('connect', () => socket.destroy())
  })
}

function pidFile(daemon: string): string {
  return `/run/libvirt/${daemon}.pid`
}

/** The same at every start, and another for every host: libvirt tells hosts apart by it. */
function hostUuid(directory: string): string {
  const hex = createHash('sha256').update(directory).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
