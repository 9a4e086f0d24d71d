import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { readRelease } from '#common/release.ts'
import { projectRoot } from '../paths.ts'
import { describeCode, runningCode, runsFromHere } from './running-code.ts'

async function inFolder<T>(cwd: string, look: (pid: number) => T): Promise<T> {
  const child = spawn('sleep', ['60'], { cwd })
  await once(child, 'spawn')
  try {
    return look(child.pid ?? 0)
  } finally {
    child.kill()
  }
}

test('a process that was started from this folder runs this release', async () => {
  const code = await inFolder(projectRoot, runningCode)

  expect(code).toEqual({ folder: projectRoot, release: readRelease(), isThis: true })
  expect(await inFolder(projectRoot, runsFromHere)).toBe(true)
})

test('one of another folder runs what is there, which may not be known', async () => {
  const code = await inFolder(tmpdir(), runningCode)

  expect(code).toEqual({ folder: tmpdir(), release: undefined, isThis: false })
  expect(code && describeCode(code)).toBe(`what was in ${tmpdir()} before`)
  expect(await inFolder(tmpdir(), runsFromHere)).toBe(false)
})

test('no process, no code', () => {
  expect(runningCode(2 ** 30)).toBeUndefined()
})
