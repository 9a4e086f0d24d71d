import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLogger } from '../log.ts'
import { IsolatedRunner } from './isolated-runner.ts'
import { POISONS } from './testing.ts'

// Goal: whatever a task does to its process, its parent and the other tasks go on, and it alone is found guilty.

const HERE = fileURLToPath(new URL('.', import.meta.url))
const log = createLogger('test', 'silent')
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-isolated-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** A program that does with a task what `work` says. */
function programOf(name: string, work: string): URL {
  const file = join(folder, `${name}.mts`)
  writeFileSync(
    file,
    `import { serveIsolated } from '${HERE}serve-isolated.ts'
    import { poison, POISONS } from '${HERE}testing.ts'
    import { createLogger } from '${HERE}../log.ts'
    const work = async (task, signal) => { ${work} }
    await serveIsolated(createLogger('test', 'silent'), async () => (
      { work, [Symbol.asyncDispose]: async () => {} }
    ))`,
  )
  return pathToFileURL(file)
}

const ACTS = "if (POISONS.includes(task)) await poison(task); return 'did ' + task"
const WAITS = "return new Promise((resolve) => signal.addEventListener('abort', resolve))"

function open(program: URL): IsolatedRunner {
  return new IsolatedRunner({ program, log, heldUpAfterS: 2, memoryMaxMb: 256 })
}

/** The number in a file, once there is one. */
async function pidIn(file: string): Promise<number> {
  const text = () => (existsSync(file) ? readFileSync(file, 'utf8') : '')
  await expect.poll(text).not.toBe('')
  return Number(text())
}

/** A process that has ended and was not waited for yet runs no more. */
function isRunning(pid: number): boolean {
  const stat = `/proc/${pid}/stat`
  return existsSync(stat) && readFileSync(stat, 'utf8').split(' ')[2] !== 'Z'
}

const REASONS = {
  exit: 'It ended its process with code 3.',
  throw: expect.stringContaining('thrown and not caught'),
  loop: 'It held up its process for 2 seconds.',
  heap: 'Its process ran out of memory, or aborted.',
  buffers: 'Its process ran out of memory, or aborted.',
}

test.each(POISONS)(
  'of tasks that are tried together, the one that would %s is found',
  async (poison) => {
    await using isolated = open(programOf('acts', ACTS))

    const ends = await Promise.all(['a', poison, 'b'].map((task) => isolated.run(task)))

    const ended = (task: string) => ({ kind: 'ended', answer: `did ${task}` })
    const guilty = { kind: 'guilty', why: REASONS[poison] }
    expect(ends).toEqual([ended('a'), guilty, ended('b')])
  },
)

test('a process that is killed from outside proves nothing about its tasks', async () => {
  const pidFile = join(folder, 'pid')
  const tells = `(await import('node:fs')).writeFileSync('${pidFile}', String(process.pid)); ${WAITS}`
  await using isolated = open(programOf('killed', tells))
  const end = isolated.run('a')

  process.kill(await pidIn(pidFile), 'SIGKILL')

  expect(await end).toEqual({ kind: 'left' })
})

test('a task whose work fails is left, and one that cannot even be begun', async () => {
  await using failing = open(programOf('fails', "throw new Error('away')"))
  expect(await failing.run('a')).toEqual({ kind: 'left' })

  await using missing = open(pathToFileURL(join(folder, 'missing.mts')))
  expect(await missing.run('a')).toEqual({ kind: 'left' })
})

test('an isolated process whose parent is killed ends, even where it loops for ever', async () => {
  const pidFile = join(folder, 'looping')
  const loops = `(await import('node:fs')).writeFileSync('${pidFile}', String(process.pid)); for (;;);`
  const parent = join(folder, 'parent.mts')
  writeFileSync(
    parent,
    `import { IsolatedRunner } from '${HERE}isolated-runner.ts'
    import { createLogger } from '${HERE}../log.ts'
    const program = new URL('${programOf('loops', loops).href}')
    await new IsolatedRunner({ program, log: createLogger('test', 'silent') }).run('a')`,
  )
  const child = spawn(process.execPath, [parent], { stdio: 'inherit' })
  const pid = await pidIn(pidFile)

  child.kill('SIGKILL')

  await expect.poll(() => isRunning(pid)).toBe(false)
})

test('a task that is under way when its parent stops is left', async () => {
  const isolated = open(programOf('waits', WAITS))
  const end = isolated.run('a')

  await isolated[Symbol.asyncDispose]()

  expect(await end).toMatchObject({ kind: 'left' })
  expect(await isolated.run('b')).toEqual({ kind: 'left' })
})
