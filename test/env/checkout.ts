import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'yaml'
import { callApi, type Session, signIn } from '#deploy/api/session.ts'
import { layoutIn } from '#deploy/deployment/layout.ts'
import { loadState } from '#deploy/deployment/state.ts'
import { projectRoot } from '#deploy/paths.ts'
import { processStates } from '#deploy/status/process-states.ts'
import { compileCache } from './compile-cache.ts'

export interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const COMMAND_LIMIT_MS = 300_000

/** The command line of Weir with a deployment of its own, as a second checkout would have. Disposing ends it. */
export class Checkout implements AsyncDisposable {
  readonly home = mkdtempSync(join(tmpdir(), 'weir-up-'))
  readonly cloudsFile = join(this.home, 'clouds.yaml')
  readonly #within: readonly string[]
  #root = projectRoot

  /** `within`: what each command is started by, such as to be in another network. */
  constructor(within: readonly string[] = []) {
    this.#within = within
    symlinkSync(compileCache(), layoutIn(this.home).compileCache)
  }

  /** From now on its commands are those of the release in this folder. */
  runFrom(root: string): void {
    this.#root = root
    // Of a folder that is removed later nothing is kept.
    rmSync(layoutIn(this.home).compileCache, { recursive: true, force: true })
  }

  /** Runs `./weir ARGS`. */
  async weir(...args: readonly string[]): Promise<CommandResult> {
    const [command = '', ...rest] = [...this.#within, join(this.#root, 'weir'), ...args]
    const child = spawn(command, rest, {
      env: { ...process.env, WEIR_HOME: this.home },
      timeout: COMMAND_LIMIT_MS,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const code = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject).once('close', resolve)
    })
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { code: await code, stdout, stderr }
  }

  /** Runs `./weir ARGS` and kills it, and nothing else, as soon as `isTime`, or when it has ended by itself. */
  async killed(isTime: () => boolean, ...args: readonly string[]): Promise<void> {
    const child = spawn(join(projectRoot, 'weir'), args, {
      env: { ...process.env, WEIR_HOME: this.home },
      timeout: COMMAND_LIMIT_MS,
      stdio: 'ignore',
    })
    const ended = once(child, 'exit')
    while (child.exitCode === null && !isTime()) await sleep(1)
    child.kill('SIGKILL')
    await ended
  }

  /** The commands of all processes that name this deployment's folder, whichever process started them. */
  left(): readonly string[] {
    return readdirSync('/proc')
      .filter((pid) => /^\d+$/.test(pid) && pid !== String(process.pid))
      .map((pid) => ['cmdline', 'environ'].map((file) => readOrNothing(`/proc/${pid}/${file}`)))
      .filter((texts) => texts.some((each) => each.includes(this.home)))
      .map(([command = '']) => command.replaceAll('\0', ' '))
  }

  /** Like `weir`; throws the output of a failed command. */
  async succeed(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.weir(...args)
    if (code !== 0) throw new Error(`weir ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`)
    return stdout
  }

  /** The pids of what `./weir status` shows as up, without the half second that the command takes to start. */
  async processes(): Promise<ReadonlyMap<string, number>> {
    const layout = layoutIn(this.home)
    const state = loadState(layout)
    const states = state === undefined ? [] : await processStates(layout, state)
    return new Map(
      states.flatMap(({ name, isAlive, pid }) =>
        isAlive && pid !== undefined ? [[name, pid] as const] : [],
      ),
    )
  }

  /** Of the process that restarts what ends, as last started. */
  supervisorPid(): number {
    const text = readFileSync(join(this.home, 'supervisor.json'), 'utf8')
    return (JSON.parse(text) as { readonly pid: number }).pid
  }

  /** Who clouds.yaml names, and where. */
  cloud(name: 'weir' | 'weir-admin'): CloudAuth {
    const { clouds } = parse(readFileSync(this.cloudsFile, 'utf8')) as {
      clouds: Readonly<Record<string, { readonly auth: CloudAuth }>>
    }
    const cloud = clouds[name]
    if (cloud === undefined) throw new Error(`clouds.yaml has no ${name}`)
    return cloud.auth
  }

  /** Logs in with this entry of clouds.yaml. */
  signIn(name: 'weir' | 'weir-admin'): Promise<Session> {
    const { auth_url, username, password, project_name } = this.cloud(name)
    const account = { userName: username, password, projectName: project_name }
    return signIn(new URL(auth_url).origin, account)
  }

  /** The demo project's servers, as the API lists them. */
  async servers(): Promise<readonly ListedServer[]> {
    const { servers } = await callApi<{ servers: readonly ListedServer[] }>(
      await this.signIn('weir'),
      { method: 'GET', path: '/compute/v2.1/servers/detail' },
    )
    // Variables that contain the endpoint are left out, because it may move.
    return servers.map(({ id, name, status, addresses }) => ({ id, name, status, addresses }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.succeed('down')
    rmSync(this.home, { recursive: true, force: true })
  }
}

export interface CloudAuth {
  readonly auth_url: string
  readonly username: string
  readonly password: string
  readonly project_name: string
}

export interface ListedServer {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly addresses: Readonly<Record<string, readonly { readonly addr: string }[]>>
}

/** Of a process that may have ended meanwhile. */
function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** A file that only its owner may read, for the option that takes a token from a file. */
export function tokenFile(token: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'weir-token-')), 'token')
  writeFileSync(file, token, { mode: 0o600 })
  return file
}
