import { spawn } from 'node:child_process'
import { Failure } from '#common/errors.ts'

export interface RunOptions {
  /** The process is killed, with its children in its group, when it takes longer. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  readonly cwd?: string
  /** Replaces the environment; without it the child gets only `PATH` and a C locale. */
  readonly env?: Readonly<Record<string, string>>
  /** The kernel kills the process if this one dies; absent: it goes on to its end. */
  readonly endsWithUs?: true
  /** How much of each stream is kept; absent: 64 KiB. */
  readonly outputBytesMax?: number
  /** What the command reads; absent: nothing. */
  readonly input?: string
  /** Exit codes that are no failure; absent: 0 alone. */
  readonly codes?: readonly number[] | 'any'
}

export interface RunResult {
  readonly stdout: string
  readonly stderr: string
  readonly code: number
}

/** The newest part of what a command says is kept: errors come last. */
const OUTPUT_BYTES_MAX = 64 * 1024
const WITH_PARENT = ['setpriv', '--pdeathsig', 'KILL', '--']
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/**
 * Runs a command to its end, never through a shell, and returns its output, each stream cut to its newest part.
 * Throws `unsupported` when the command is not installed, `unavailable` when it took too long, the signal's reason when
 * aborted, and `internal` with the command's output as detail when it failed.
 */
export async function run(
  command: string,
  args: readonly string[],
  options: RunOptions,
): Promise<RunResult> {
  options.signal?.throwIfAborted()
  const [program, ...all] =
    options.endsWithUs === true ? [...WITH_PARENT, command, ...args] : [command, ...args]
  const child = spawn(program!, all, {
    cwd: options.cwd,
    env: options.env ?? { PATH, LC_ALL: 'C' },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  // A command may end without reading it; how it ended is told by its exit code.
  child.stdin.on('error', () => {}).end(options.input)
  const stdout = tail(child.stdout, options.outputBytesMax)
  const stderr = tail(child.stderr, options.outputBytesMax)
  const killGroup = () => {
    if (child.pid !== undefined && child.exitCode === null) kill(-child.pid)
  }
  let expired = false
  const timer = setTimeout(() => {
    expired = true
    killGroup()
  }, options.timeoutMs)
  options.signal?.addEventListener('abort', killGroup, { once: true })
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', (cause) => reject(notStarted(command, cause)))
      child.once('close', resolve)
    })
    options.signal?.throwIfAborted()
    if (expired)
      throw new Failure('unavailable', `The command ${command} took longer than expected.`, {
        detail: `killed after ${options.timeoutMs} ms`,
      })
    const { codes = [0] } = options
    if (code === null || (codes !== 'any' && !codes.includes(code)))
      throw new Failure('internal', `The command ${command} failed.`, {
        detail: `exit ${code}: ${stderr().trim() || stdout().trim()}`,
      })
    return { stdout: stdout(), stderr: stderr(), code }
  } finally {
    clearTimeout(timer)
    options.signal?.removeEventListener('abort', killGroup)
  }
}

function tail(stream: NodeJS.ReadableStream, bytesMax = OUTPUT_BYTES_MAX): () => string {
  let kept = Buffer.alloc(0)
  stream.on('data', (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk]).subarray(-bytesMax)
  })
  return () => kept.toString('utf8')
}

function notStarted(command: string, cause: Error): Failure {
  const missing = 'code' in cause && cause.code === 'ENOENT'
  return missing
    ? new Failure('unsupported', `The command ${command} is not installed on this host.`, { cause })
    : new Failure('internal', `The command ${command} could not be started.`, { cause })
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself in the meantime.
  }
}
