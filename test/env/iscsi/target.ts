import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitFor } from '#common/wait-for.ts'
import { runTool } from '#deploy/packages/run-tool.ts'
import { findProgram, programPath } from '#deploy/process/find-program.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { startProcess } from '#deploy/process/start-process.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'

const LIMIT_MS = 20_000
const TARGET_ID = '1'

/** A target of iSCSI that listens on loopback. */
export interface IscsiTarget extends AsyncDisposable {
  /** Its files. */
  readonly directory: string
  readonly port: number
  /** Its name. */
  readonly name: string
  /** Absent: it asks for no password. */
  readonly login?: { readonly user: string; readonly password: string }
  /** The files of its LUNs, in the order of their numbers, from 1. */
  readonly luns: readonly string[]
  /** Afterwards it has one more LUN, which is this file. Returns its number. */
  addLun(file: string): Promise<number>
  /** Until it goes on, the target answers nothing. */
  pause(): void
  goOn(): void
}

export interface TargetOptions {
  /** The sizes of its LUNs, in bytes. */
  readonly sizes: readonly number[]
  readonly login?: IscsiTarget['login']
}

/** True where Debian's target is unpacked or installed. */
export function isTargetHere(): boolean {
  return ['tgtd', 'tgtadm'].every((name) => programPath(name) !== undefined)
}

/** A target with LUNs that nobody has written yet. */
export async function startTarget({ sizes, login }: TargetOptions): Promise<IscsiTarget> {
  const owned = new AsyncDisposableStack()
  const directory = mkdtempSync(join(tmpdir(), 'weir-iscsi-'))
  owned.defer(() => rmSync(directory, { recursive: true, force: true }))
  const port = await freePort()
  const name = `iqn.2026-01.org.example:${port}`
  const env = { TGT_IPC_SOCKET: join(directory, 'socket') }
  const started = await startProcess({
    command: findProgram('tgtd'),
    args: ['-f', '--iscsi', `portal=127.0.0.1:${port}`],
    env,
    directory,
    logFile: join(directory, 'tgtd.out'),
    lifetime: 'with-parent',
  })
  // While initiators are logged in it does not end when it is asked to.
  owned.defer(() => stopProcess(started, 500))
  const ask = (mode: string, op: string, ...more: readonly string[]) =>
    runTool(findProgram('tgtadm'), ['--lld', 'iscsi', '--mode', mode, '--op', op, ...more], {
      limitMs: LIMIT_MS,
      env,
    })
  const luns: string[] = []
  const target: IscsiTarget = {
    ...{ directory, port, name, luns },
    ...(login && { login }),
    async addLun(file) {
      const number = luns.push(file)
      await ask('logicalunit', 'new', '-t', TARGET_ID, '-l', String(number), '-b', file)
      return number
    },
    pause: () => void process.kill(started.pid, 'SIGSTOP'),
    goOn: () => void process.kill(started.pid, 'SIGCONT'),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
  const answers = () => ask('system', 'show').then(() => true)
  await waitFor('the target of iSCSI', answers, LIMIT_MS)
  await ask('target', 'new', '-t', TARGET_ID, '-T', name)
  for (const [index, bytes] of sizes.entries()) {
    const file = join(directory, `lun-${index + 1}`)
    writeFileSync(file, '')
    truncateSync(file, bytes)
    await target.addLun(file)
  }
  if (login !== undefined) {
    await ask('account', 'new', '--user', login.user, '--password', login.password)
    await ask('account', 'bind', '-t', TARGET_ID, '--user', login.user)
  }
  await ask('target', 'bind', '-t', TARGET_ID, '-I', 'ALL')
  return target
}
