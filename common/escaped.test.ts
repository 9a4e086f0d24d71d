import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const HERE = fileURLToPath(new URL('.', import.meta.url))

/** What a process prints that runs this, and how it ends. */
function ended(script: string): Promise<{ readonly out: string; readonly code: number }> {
  const text = `
    import { writeSync } from 'node:fs'
    import { endOnEscape, withinTask } from '${HERE}escaped.ts'
    import { createLogger } from '${HERE}log.ts'
    endOnEscape(createLogger('test', 'fatal'))
    const setAside = async () => writeSync(1, 'set aside\\n')
    ${script}`
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--input-type=module-typescript', '-e', text],
      { cwd: HERE },
      (error, out) => resolve({ out, code: Number(error?.code ?? 0) }),
    )
  })
}

test.each([
  ['a timer', "setTimeout(() => { throw new Error('poison') }, 1)"],
  [
    'a promise nobody waits for',
    "void Promise.resolve().then(() => { throw new Error('poison') })",
  ],
  [
    'an event',
    "new (await import('node:events')).EventEmitter().emit('error', new Error('poison'))",
  ],
])('an exception that escapes by %s ends the process and sets its task aside', async (_, work) => {
  const { out, code } = await ended(`withinTask({ setAside }, async () => { ${work} })`)

  expect(code).toBe(1)
  expect(out).toContain('set aside')
  expect(out).toContain('poison')
})

test('one of no task ends the process, and sets nothing aside', async () => {
  const { out, code } = await ended(
    "withinTask({ setAside }, async () => {}); setTimeout(() => { throw new Error('other') }, 1)",
  )

  expect(code).toBe(1)
  expect(out).toContain('"is_of_task":false')
  expect(out).not.toContain('set aside\n')
})
