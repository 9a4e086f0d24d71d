import { mkdir, readFile, rm } from 'node:fs/promises'
import { delimiter, dirname, join, resolve } from 'node:path'
import { Client } from 'undici'
import { Failure } from '#common/errors.ts'
import { waitFor } from '#common/wait-for.ts'
import type { RunOptions, RunResult } from '#drivers/run.ts'
import { removeHolder, runningHolder, writeHolder } from '../namespace/holder-file.ts'
import { endNamespace, type Holder, runInside, startNamespace } from '../namespace/namespace.ts'
import { findProgram } from '../process/find-program.ts'

export interface RunningDockerEngine {
  /** For the driver's settings. */
  readonly endpoint: string
  /** The engine looks for its plugins there. */
  readonly pluginDirectory: string
  /** The namespaces that the engine lives in. */
  readonly holder: Holder
  /** Runs a command in the engine's namespaces, such as a request to a container's address. */
  run(command: string, args: readonly string[], options: RunOptions): Promise<RunResult>
  start(): Promise<void>
  /** Asks the engine to end; it ends its containers first. */
  shutDown(): Promise<void>
  /** Ends the engine as a crash does: its containers run on until it starts again. */
  kill(): Promise<void>
  /** Ends every process of the engine, and no others. Its data stays. */
  stop(): Promise<void>
}

const STEP_MS = 10_000
const READY_MS = 30_000
const END_MS = 30_000
const LOG_TAIL_CHARS = 2_000
/** Where an engine looks for the sockets of its plugins, in spite of its settings. */
const PLUGINS = '/run/docker/plugins'
/** The engine keeps running when the shell that started it ends. */
const IN_BACKGROUND = 'log=$1; shift; setsid "$@" >>"$log" 2>&1 </dev/null &'

/**
 * Afterwards a Docker engine of its own runs, in namespaces of its own, with its state under `directory`, which is short
 * enough that a socket path below it fits (about 80 characters). Started over one that still runs, it finds that one,
 * containers included. Its bridges and its firewall rules are in its network namespace: nothing of the machine's own
 * network changes. `options` are the engine's own, such as where else it listens. Needs root and `DOCKER_PACKAGES`.
 */
export async function startDockerEngine(
  directory: string,
  options: readonly string[] = [],
): Promise<RunningDockerEngine> {
  const home = resolve(directory)
  await mkdir(home, { recursive: true, mode: 0o711 })
  const holder = (await runningHolder(home)) ?? (await startHolder(home))
  if (!(await answers(socketOf(home)))) await startEngine(holder, home, options)
  return {
    endpoint: `unix://${socketOf(home)}`,
    pluginDirectory: pluginsOf(home),
    holder,
    run: (command, args, options) => runInside(holder, command, args, options),
    start: () => startEngine(holder, home, options),
    shutDown: () => endEngine(holder, home, '-TERM'),
    kill: () => endEngine(holder, home, '-KILL'),
    stop: () => stopDockerEngine(home),
  }
}

/** Ends the engine whose state is under `directory`, if it runs: for processes that did not start it. */
export async function stopDockerEngine(directory: string): Promise<void> {
  const home = resolve(directory)
  const holder = await runningHolder(home)
  if (holder !== undefined) await endNamespace(holder)
  await removeHolder(home)
}

/** The process that holds the engine whose state is under `directory`; undefined when it does not run. */
export async function dockerEnginePid(directory: string): Promise<number | undefined> {
  return (await runningHolder(resolve(directory)))?.pid
}

async function startHolder(home: string): Promise<Holder> {
  const holder = await startNamespace()
  try {
    const inside = (command: string, ...args: string[]) =>
      runInside(holder, command, args, { timeoutMs: STEP_MS })
    await inside('ip', 'link', 'set', 'lo', 'up')
    for (const folder of [pluginsOf(home), PLUGINS]) await mkdir(folder, { recursive: true })
    await inside('mount', '--bind', pluginsOf(home), PLUGINS)
    await writeHolder(home, holder)
    return holder
  } catch (error) {
    await endNamespace(holder)
    throw error
  }
}

async function startEngine(
  holder: Holder,
  home: string,
  options: readonly string[],
): Promise<void> {
  const log = join(home, 'dockerd.log')
  // One that was killed leaves it behind, and the next would take the pid in it for its own.
  await rm(pidFileOf(home), { force: true })
  const places = ['data-root', 'exec-root'].flatMap((name) => [`--${name}`, join(home, name)])
  const listens = ['--pidfile', pidFileOf(home), '--host', `unix://${socketOf(home)}`]
  const command = [findProgram('dockerd'), ...places, ...listens, ...options]
  await runInside(holder, 'sh', ['-c', IN_BACKGROUND, 'sh', log, ...command], {
    timeoutMs: STEP_MS,
    env: { PATH: programFolders() },
  })
  try {
    await waitFor('the Docker engine', () => answers(socketOf(home)), READY_MS)
  } catch (cause) {
    const output = (await readFile(log, 'utf8')).slice(-LOG_TAIL_CHARS)
    throw new Failure('unavailable', `dockerd did not come up: ${output}`, { cause })
  }
}

async function endEngine(holder: Holder, home: string, signal: string): Promise<void> {
  const options = { timeoutMs: STEP_MS }
  const pid = (await readFile(pidFileOf(home), 'utf8')).trim()
  await runInside(holder, 'kill', [signal, pid], options)
  const isGone = () =>
    runInside(holder, 'kill', ['-0', pid], options).then(
      () => false,
      () => true,
    )
  await waitFor('the Docker engine to end', isGone, END_MS)
}

/** The engine finds containerd, runc and iptables by itself. */
function programFolders(): string {
  const names = ['sh', 'setsid', 'containerd', 'runc', 'iptables', 'ip']
  return [...new Set(names.map((name) => dirname(findProgram(name))))].join(delimiter)
}

async function answers(socketPath: string): Promise<boolean> {
  const client = new Client('http://localhost', { socketPath })
  try {
    const { statusCode, body } = await client.request({ method: 'GET', path: '/_ping' })
    await body.dump()
    return statusCode === 200
  } catch {
    return false
  } finally {
    await client.destroy()
  }
}

function socketOf(home: string): string {
  return join(home, 'docker.sock')
}

function pluginsOf(home: string): string {
  return join(home, 'run')
}

function pidFileOf(home: string): string {
  return join(home, 'dockerd.pid')
}
