import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type RunOptions, type RunResult, run } from '#drivers/run.ts'

/** The process that holds a host's namespaces; its start time tells it from a later one with the same pid. */
export interface Holder {
  readonly pid: number
  readonly startTime: string
  readonly bootId: string
}

const STEP_MS = 5_000
const POLL_MS = 20
const ENDED_TRIES_MAX = 500
/** Later than process 1 gives the guests. */
const KILL_AFTER_TRIES = 350
const READY_TRIES_MAX = 500

/**
 * Starts new namespaces for PIDs, mounts, network and host name. They exist until `endNamespace`, even after this
 * process has ended.
 */
export async function startNamespace(): Promise<Holder> {
  const own = ['--pid', '--mount', '--net', '--uts', '--ipc']
  const args = [...own, '--fork', '--kill-child', '--mount-proc', '--propagation', 'private']
  const init = fileURLToPath(new URL('init.sh', import.meta.url))
  const child = spawn('unshare', [...args, 'sh', init], { detached: true, stdio: 'ignore' })
  await once(child, 'spawn')
  child.unref()
  const identity = await identityOf(child.pid!)
  if (identity === undefined) throw new Error('unshare ended at once: it needs root')
  await waitUntilReady(identity)
  return identity
}

/** True while the namespaces exist. */
export async function holdsNamespace(holder: Holder): Promise<boolean> {
  const now = await identityOf(holder.pid)
  return now?.startTime === holder.startTime && now.bootId === holder.bootId
}

/** Runs a command inside. Its PIDs are those of the namespace. */
export async function runInside(
  holder: Holder,
  command: string,
  args: readonly string[],
  options: RunOptions,
): Promise<RunResult> {
  const { pid } = holder
  // Joining a mount namespace leaves a chroot: `--root` goes back into it.
  const enter = [
    '--target',
    String(pid),
    '--root',
    '--wdns=/',
    '--mount',
    '--net',
    '--uts',
    '--ipc',
  ]
  // The holder itself stays outside: only its children are in the PID namespace.
  const pids = `--pid=/proc/${pid}/ns/pid_for_children`
  return run('nsenter', [...enter, pids, '--', command, ...args], options)
}

/** Afterwards the namespaces and every process in them are gone. */
export async function endNamespace(holder: Holder): Promise<void> {
  await runInside(holder, 'kill', ['-TERM', '1'], { timeoutMs: STEP_MS }).catch(() => undefined)
  for (let tries = 0; tries < ENDED_TRIES_MAX; tries++) {
    if (!(await holdsNamespace(holder))) return
    if (tries === KILL_AFTER_TRIES) process.kill(holder.pid, 'SIGKILL')
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  throw new Error(`process ${holder.pid} does not end`)
}

/** The namespace has its own /proc once process 1 is the shell. */
async function waitUntilReady(holder: Holder): Promise<void> {
  for (let tries = 0; tries < READY_TRIES_MAX; tries++) {
    try {
      const { stdout } = await runInside(holder, 'cat', ['/proc/1/comm'], { timeoutMs: STEP_MS })
      if (stdout.trim() === 'sh') return
    } catch (error) {
      if (!(await holdsNamespace(holder))) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  throw new Error('the namespaces did not come up')
}

async function identityOf(pid: number): Promise<Holder | undefined> {
  try {
    const [stat, bootId] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    ])
    // After the name in parentheses, which may hold anything: state is the first field, start time the 20th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z') return undefined
    return { pid, startTime: fields[19]!, bootId: bootId.trim() }
  } catch {
    return undefined
  }
}
