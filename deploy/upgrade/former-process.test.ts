import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ProcessIdentity } from '../process/process-identity.ts'
import { startProcess } from '../process/start-process.ts'
import { stopProcess } from '../process/stop-process.ts'
import { nodeArguments } from '../processes/program.ts'
import { formerProcess, startFormer } from './former-process.ts'

// Goal: a program of another release that an upgrade has ended can be started as it was, options of Node included.

const SCRIPT = 'program.cjs'
const SOURCE = `
const { SETTING } = process.env
require('node:fs').appendFileSync('starts', [SETTING, ...process.execArgv, '\\n'].join(' '))
setInterval(() => {}, 1_000)
`
const started: ProcessIdentity[] = []
let folder: string

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'weir-former-')))
  writeFileSync(join(folder, SCRIPT), SOURCE)
  writeFileSync(join(folder, 'starts'), '')
})
afterEach(async () => {
  for (const identity of started.splice(0)) await stopProcess(identity)
  rmSync(folder, { recursive: true, force: true })
})

const starts = () => readFileSync(join(folder, 'starts'), 'utf8').split('\n').slice(0, -1)
const untilStarts = (count: number) =>
  waitFor('a start', async () => starts().length === count, 30_000)

async function program() {
  const identity = await startProcess({
    command: process.execPath,
    args: nodeArguments({ script: SCRIPT }),
    env: { SETTING: 'as before' },
    directory: folder,
    logFile: join(folder, 'log'),
    lifetime: 'detached',
    record: (identity) => started.push(identity),
  })
  await untilStarts(1)
  return { ...identity, settingsDigest: 'digest' }
}

test('a program of another folder is started again with its options and settings', async () => {
  const identity = await program()

  const former = formerProcess(identity)
  expect(former).toMatchObject({ folder, settingsDigest: 'digest' })
  await stopProcess(identity)
  await startFormer(former!, { logFile: join(folder, 'log') }, (again) => started.push(again))

  await untilStarts(2)
  const [first, second] = starts()
  expect(first).toContain('as before --')
  expect(second).toBe(first)
})

test('one whose release is gone cannot be', async () => {
  const identity = await program()
  rmSync(join(folder, SCRIPT))

  expect(formerProcess(identity)).toBeUndefined()
})

test('one that has ended cannot be', async () => {
  const identity = await program()
  await stopProcess(identity)

  expect(formerProcess(identity)).toBeUndefined()
})
