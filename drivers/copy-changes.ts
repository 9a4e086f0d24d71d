import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { Failure } from '#common/errors.ts'
import { abortable } from './abortable.ts'
import { ownDiskSize } from './image-header.ts'
import { createBlank } from './qemu-img.ts'

type Daemon = ChildProcessByStdio<Writable, Readable, Readable>

/** A line of QEMU's protocol (docs/interop/qmp-spec.txt). */
interface Message {
  readonly error?: { readonly desc: string }
  readonly event?: string
  readonly data?: { readonly error?: string }
}

/** Address space and CPU seconds: a whole disk takes as long as its host's storage. */
const LIMITS = ['--as=2147483648', '--cpu=3600']
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const JOB = 'copy'

/**
 * Afterwards `to` is a qcow2 disk that holds the parts of the qcow2 disk `from` which the bitmap names, and nothing else. No
 * program may write `from` meanwhile. On a failure `to` may be there in part.
 */
export async function copyChanges(
  from: string,
  bitmap: string,
  to: string,
  signal: AbortSignal,
): Promise<void> {
  await createBlank(to, await ownDiskSize(from), signal)
  const nodes = [node('source', from, true), node('target', to, false)]
  const monitor = ['--chardev', 'stdio,id=qmp', '--monitor', 'chardev=qmp']
  const args = [...nodes.flatMap((each) => ['--blockdev', each]), ...monitor]
  const daemon: Daemon = spawn('prlimit', [...LIMITS, '--', 'qemu-storage-daemon', ...args], {
    env: { PATH, LC_ALL: 'C' },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  // A command that is not installed has neither begun nor ended.
  const ended = once(daemon, 'close').catch(() => undefined)
  try {
    await abortable(backUp(daemon, bitmap), signal)
  } finally {
    killGroup(daemon)
    await ended
  }
}

/** The options of a disk of the daemon, in JSON: a path may have commas. */
function node(name: string, filename: string, isReadOnly: boolean): string {
  const file = { driver: 'file', filename }
  return JSON.stringify({ driver: 'qcow2', 'node-name': name, 'read-only': isReadOnly, file })
}

/** Has the daemon copy what the bitmap names, and waits until it is on the disk. */
async function backUp(daemon: Daemon, bitmap: string): Promise<void> {
  const messages = createInterface({ input: daemon.stdout })[Symbol.asyncIterator]()
  let said = ''
  daemon.stderr.on('data', (chunk: Buffer) => {
    said = `${said}${chunk.toString()}`.slice(-1_000)
  })
  daemon.stdin.on('error', () => undefined)
  const failure = (why: string) =>
    new Failure('internal', 'The changes of a disk could not be copied.', { detail: why })
  const until = async (is: (message: Message) => boolean): Promise<Message> => {
    for (;;) {
      const line = await messages.next()
      if (line.done === true) throw failure(`qemu-storage-daemon ended: ${said}`)
      const message = JSON.parse(line.value) as Message
      if (message.error !== undefined) throw failure(message.error.desc)
      if (is(message)) return message
    }
  }
  const execute = (command: string, given: object) =>
    daemon.stdin.write(`${JSON.stringify({ execute: command, arguments: given })}\n`)
  execute('qmp_capabilities', {})
  const disks = { device: 'source', target: 'target' }
  const parts = { sync: 'bitmap', bitmap, 'bitmap-mode': 'never' }
  execute('blockdev-backup', { 'job-id': JOB, ...disks, ...parts })
  const { data } = await until(({ event }) => event === 'BLOCK_JOB_COMPLETED')
  if (data?.error !== undefined) throw failure(data.error)
  // Closes the target, and with that writes its tables.
  execute('quit', {})
  for (let line = await messages.next(); line.done !== true; ) line = await messages.next()
}

function killGroup({ pid, exitCode, signalCode }: Daemon): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // It has just ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
