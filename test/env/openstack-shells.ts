import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import pLimit from 'p-limit'
import type { Settings } from './client-program.ts'

const PYTHON = '/usr/bin/python3'
const SCRIPT = new URL('openstack_shells.py', import.meta.url).pathname
const LIMIT_SECONDS = 120
const PARALLEL_MAX = 4

const slots = pLimit(PARALLEL_MAX)

/** How a command ended, and what it printed. */
export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

let socket: Promise<string> | undefined

/** Runs `openstack` with these arguments and nothing else in its environment. Throws when it takes too long. */
export function runOpenstack(args: readonly string[], env: Settings): Promise<Ended> {
  return slots(async () => {
    socket ??= startShells()
    const connection = connect(await socket)
    connection.end(`${JSON.stringify({ args, env, limitSeconds: LIMIT_SECONDS })}\n`)
    const answer = await text(connection)
    if (answer === '')
      throw new Error(`openstack ${args.join(' ')}: not over in ${LIMIT_SECONDS} s`)
    return JSON.parse(answer) as Ended
  })
}

/** Started once for a test file, and gone with it. */
async function startShells(): Promise<string> {
  const name = `weir-test-${randomUUID()}`
  const env = { PATH: '/usr/bin:/bin', HOME: '/nonexistent', PYTHONDONTWRITEBYTECODE: '1' }
  const shells = spawn(PYTHON, [SCRIPT, name], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  process.once('exit', () => shells.kill())
  await readiness(shells)
  return `\0${name}`
}

/** Resolves with its first word. Afterwards it keeps no test file from ending. */
async function readiness(shells: ChildProcess): Promise<void> {
  const ended = once(shells, 'exit').then(() => {
    throw new Error('openstack cannot be loaded')
  })
  await Promise.race([once(shells.stdout!, 'data'), ended])
  ended.catch(() => undefined)
  shells.stdout!.destroy()
  shells.unref()
}
